/** The names of all tools, and a search among them for a name that is written wrong. */
export type NameIndex = ReturnType<typeof createNameIndex>;

// A part of a name is a run of three characters, with two blanks before and behind the name. One wrong character changes
// three parts at most.
const PART_LENGTH = 3;
const PADDING = '  ';
// How many names are looked up for the parts of one name, the rarest parts first: some 100 µs.
const MOST_LOOKED_UP = 8_000;
const MOST_NEAR = 256;

/** Indexes names in this order. The index of parts is built by the first search: some 10 ms for ten thousand names. */
export const createNameIndex = (names: readonly string[]) => {
  let lowers: readonly string[] | undefined;
  let places: ReadonlyMap<string, readonly number[]> | undefined;
  const listLowers = (): readonly string[] => {
    lowers ??= names.map((name) => name.toLowerCase());
    return lowers;
  };
  return {
    names,
    /** The same names in lower case. */
    lowers: listLowers,
    /**
     * The places in `names` of at most 256 names that share parts with `wanted` (in lower case), those that share most
     * first. The work grows with the names that share its rarest parts, and is bounded.
     */
    findNear: (wanted: string): readonly number[] => {
      places ??= indexParts(listLowers());
      return findNear(places, names.length, wanted);
    },
  };
};

const indexParts = (lowers: readonly string[]): ReadonlyMap<string, readonly number[]> => {
  const places = new Map<string, number[]>();
  for (const [place, lower] of lowers.entries())
    for (const part of listParts(lower)) {
      const sharing = places.get(part);
      if (sharing === undefined) places.set(part, [place]);
      else sharing.push(place);
    }
  return places;
};

const listParts = (lower: string): ReadonlySet<string> => {
  const padded = `${PADDING}${lower}${PADDING}`;
  const parts = new Set<string>();
  for (let at = 0; at + PART_LENGTH <= padded.length; at += 1) parts.add(padded.slice(at, at + PART_LENGTH));
  return parts;
};

const findNear = (places: ReadonlyMap<string, readonly number[]>, size: number, wanted: string): readonly number[] => {
  const lists = Array.from(listParts(wanted), (part) => places.get(part) ?? []).sort((a, b) => a.length - b.length);
  const shared = new Uint8Array(size);
  const found: number[] = [];
  let left = MOST_LOOKED_UP;
  for (const list of lists) {
    left -= list.length;
    if (left < 0) break;
    for (const place of list) {
      const count = shared[place] ?? 0;
      if (count === 0) found.push(place);
      shared[place] = count + 1;
    }
  }
  const byCount = [...Map.groupBy(found, (place) => shared[place] ?? 0)].sort(([one], [other]) => other - one);
  return byCount.flatMap(([, alike]) => alike).slice(0, MOST_NEAR);
};
