/** Names that are searched for near ones without comparing them all. */
export type NameIndex = {
  /** In the order they were given in, which for the tools of a registry is by name, in code units. */
  readonly names: readonly string[];
  /** The same in lower case; made when they are first asked for. */
  readonly lowers: () => readonly string[];
  /**
   * At most 256 names that share parts with `wanted` (in lower case), those that can be nearest first. The work grows
   * slowly with the number of names and not with that of those that share a part.
   */
  readonly findNear: (wanted: string) => NearNames;
};

/** Names that share parts with the one that was looked for, each as one number, for `placeOf` and `leastOf` to read. */
type NearNames = Iterable<number>;

// The parts are the runs of three characters of a name with two blanks around it, each once. A change of one character
// changes three of them at most, so names with `shared` of `parts` in common are (parts - shared) / 3 changes apart, or more.
const PART_LENGTH = 3;
const PADDING = '  ';
// Parts fall into so many buckets by a hash. Those that fall together only make names seem nearer.
const BUCKETS = 32_768;
// Names that are looked up under the parts of one name, under the rarest parts first: some 10 µs.
const MOST_LOOKED_UP = 8_000;
const MOST_NEAR = 256;

// What a name is sorted by, as one number below 2^32: the least distance, then how few parts are shared, then its place.
const MOST_DISTANCE = 127;
const MOST_SHARED = 127;
const MOST_PLACES = 262_144;
const LEAST_UNIT = (MOST_SHARED + 1) * MOST_PLACES;

/** Where the name stands among the names of the index. */
export const placeOf = (near: number): number => near % MOST_PLACES;

/** The edit distance of the name, in lower case, from what was looked for is this or more. */
export const leastOf = (near: number): number => Math.floor(near / LEAST_UNIT);

/** The index is made when it is first searched, in some milliseconds for ten thousand names. */
export const createNameIndex = (names: readonly string[]): NameIndex => {
  let lowers: readonly string[] | undefined;
  let postings: Postings | undefined;
  const toLowers = (): readonly string[] => {
    lowers ??= names.map((name) => name.toLowerCase());
    return lowers;
  };
  return {
    names,
    lowers: toLowers,
    findNear: (wanted) => {
      postings ??= createPostings(toLowers().slice(0, MOST_PLACES));
      return findNear(postings, wanted);
    },
  };
};

type Postings = {
  readonly lengths: Uint32Array;
  readonly letters: Uint32Array;
  /** By bucket, where its places begin; one more for the end of the last. */
  readonly starts: Uint32Array;
  /** Of names, bucket after bucket. */
  readonly places: Uint32Array;
  /** By place: how many parts are shared with the name that is looked for. Zeros between two searches. */
  readonly shared: Uint8Array;
  /** The places where `shared` is no zero, in no order. */
  readonly sharing: Uint32Array;
};

const createPostings = (lowers: readonly string[]): Postings => {
  const bucketsOf = lowers.map(toBuckets);
  const starts = new Uint32Array(BUCKETS + 1);
  for (const buckets of bucketsOf) for (const bucket of buckets) add(starts, bucket + 1, 1);
  for (let bucket = 0; bucket < BUCKETS; bucket += 1) add(starts, bucket + 1, starts[bucket] ?? 0);
  const places = new Uint32Array(starts[BUCKETS] ?? 0);
  const next = starts.slice();
  for (const [place, buckets] of bucketsOf.entries())
    for (const bucket of buckets) {
      places[next[bucket] ?? 0] = place;
      add(next, bucket, 1);
    }
  return {
    lengths: Uint32Array.from(lowers, ({ length }) => length),
    letters: Uint32Array.from(lowers, toLetters),
    starts,
    places,
    shared: new Uint8Array(lowers.length),
    sharing: new Uint32Array(lowers.length),
  };
};

const add = (numbers: Uint32Array, place: number, more: number): void => {
  numbers[place] = (numbers[place] ?? 0) + more;
};

const toBuckets = (lower: string): ReadonlySet<number> => {
  const padded = `${PADDING}${lower}${PADDING}`;
  const buckets = new Set<number>();
  for (let from = 0; from + PART_LENGTH <= padded.length; from += 1)
    buckets.add(
      (padded.charCodeAt(from) * 1553 + padded.charCodeAt(from + 1) * 37 + padded.charCodeAt(from + 2)) % BUCKETS,
    );
  return buckets;
};

/** A bit for each of 32 kinds of characters, set where the name has one. */
const toLetters = (lower: string): number => {
  let letters = 0;
  for (let place = 0; place < lower.length; place += 1) letters |= 1 << (lower.charCodeAt(place) & 31);
  return letters;
};

const findNear = (postings: Postings, wanted: string): NearNames => {
  const { lengths, letters, shared } = postings;
  const buckets = toBuckets(wanted);
  const { skipped, sharing } = countShared(postings, buckets);
  const wantedLetters = toLetters(wanted);
  const keys = listMostShared(shared, sharing);
  for (let at = 0; at < keys.length; at += 1) {
    const place = keys[at] ?? 0;
    const count = shared[place] ?? 0;
    const byParts = Math.ceil((buckets.size - count - skipped) / PART_LENGTH);
    const byLength = Math.abs((lengths[place] ?? 0) - wanted.length);
    const least = Math.max(byParts, byLength, countOther(wantedLetters, letters[place] ?? 0));
    keys[at] = Math.min(least, MOST_DISTANCE) * LEAST_UNIT + (MOST_SHARED - count) * MOST_PLACES + place;
  }
  for (let at = 0; at < sharing.length; at += 1) shared[sharing[at] ?? 0] = 0;
  return keys.sort();
};

/** `skipped`: the number of parts that so many names have that they are not counted. */
const countShared = (postings: Postings, buckets: ReadonlySet<number>) => {
  const { starts, sharing } = postings;
  const spans = Array.from(buckets, (bucket) => ({ from: starts[bucket] ?? 0, to: starts[bucket + 1] ?? 0 }));
  spans.sort((a, b) => a.to - a.from - (b.to - b.from));
  let found = 0;
  let left = MOST_LOOKED_UP;
  let skipped = spans.length;
  for (const { from, to } of spans) {
    left -= to - from;
    if (left < 0) break;
    skipped -= 1;
    found = countOne(postings, { from, to, found });
  }
  return { skipped, sharing: sharing.subarray(0, found) };
};

type Span = { readonly from: number; readonly to: number; readonly found: number };

const countOne = ({ places, shared, sharing }: Postings, { from, to, found }: Span): number => {
  let more = found;
  for (let entry = from; entry < to; entry += 1) {
    const place = places[entry] ?? 0;
    const count = shared[place] ?? 0;
    if (count === 0) {
      sharing[more] = place;
      more += 1;
    }
    if (count < MOST_SHARED) shared[place] = count + 1;
  }
  return more;
};

/** The places of the names that share most: all that share more than some number of parts, and some that share so many. */
const listMostShared = (shared: Uint8Array, sharing: Uint32Array): Uint32Array => {
  const { lowest, room } = toLowest(shared, sharing);
  const places = new Uint32Array(MOST_NEAR);
  let listed = 0;
  let left = room;
  for (const place of sharing) {
    const above = (shared[place] ?? 0) - lowest;
    if (above < 0 || (above === 0 && left === 0)) continue;
    if (above === 0) left -= 1;
    places[listed] = place;
    listed += 1;
  }
  return places.subarray(0, listed);
};

/** The least number of shared parts with which a name is listed, and how many are listed that share just so many. */
const toLowest = (shared: Uint8Array, sharing: Uint32Array) => {
  const howMany = new Uint32Array(MOST_SHARED + 1);
  for (const place of sharing) add(howMany, shared[place] ?? 0, 1);
  let room = MOST_NEAR;
  for (let lowest = MOST_SHARED; lowest > 1; lowest -= 1) {
    const here = howMany[lowest] ?? 0;
    if (here >= room) return { lowest, room };
    room -= here;
  }
  return { lowest: 1, room };
};

/** How many kinds of characters one of the two has and the other has not: as many changes it takes, or more. */
const countOther = (one: number, other: number): number => Math.max(countBits(one & ~other), countBits(other & ~one));

const countBits = (bits: number): number => {
  const pairs = bits - ((bits >>> 1) & 0x55555555);
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
};
