import type { Fields, Kind } from 'recourse-server/store/record-store';
import { NO_LIST } from 'recourse-server/store/text-kind';

/**
 * `held`: reserved for a call that has not ended. `unknown`: the same, and nobody knows whether it took effect. `spent`, `given_back`: how
 * a reservation ended of which more may be heard; its amount is not counted here. `success`: a call that others require.
 */
const STATES = ['held', 'unknown', 'spent', 'given_back', 'success'] as const;

/** Amounts in millionths, times in Unix milliseconds by the store's clock. Never changed: replaced. */
export type Entry = {
  readonly state: (typeof STATES)[number];
  readonly amount: bigint;
  readonly since: number;
  /** When it goes by itself. */
  readonly until: number;
  /** Until when it may be given back because another rule refuses its call; 0: it is not. */
  readonly tentativeUntil: number;
};

/** What one rule has counted in one scope. Read `spent` and `held` freely; change it by the methods alone, which note what is to be saved. */
export class Count {
  /** What was spent, by the minute since 1970, oldest first; in minute 0 what never leaves. */
  readonly buckets = new Map<number, bigint>();
  /** By reservation or digest, oldest first. */
  readonly entries = new Map<string, Entry>();
  /** The newest of the buckets that there were. */
  lastMinute = 0;
  /** The sum of the buckets. */
  spent = 0n;
  /** The sum of what is held or unknown. */
  held = 0n;
  /** How many entries only tell how a reservation ended. */
  marks = 0;
  /** When the next entry goes by itself, at the earliest. */
  nextLapse = Number.POSITIVE_INFINITY;
  /** When nothing of it counts any more. */
  endsAt = 0;
  /** What differs from what is saved: minutes, names of entries, and the end. */
  readonly touched = { minutes: new Set<number>(), names: new Set<string>(), end: false };

  get isEmpty(): boolean {
    return this.buckets.size === 0 && this.entries.size === 0;
  }

  add(minute: number, amount: bigint): void {
    this.lastMinute = Math.max(this.lastMinute, minute);
    this.spent += amount;
    this.buckets.set(minute, (this.buckets.get(minute) ?? 0n) + amount);
    this.touched.minutes.add(minute);
  }

  drop(minute: number): void {
    this.spent -= this.buckets.get(minute) ?? 0n;
    this.buckets.delete(minute);
    this.touched.minutes.add(minute);
  }

  set(name: string, entry: Entry): void {
    this.remove(name);
    this.entries.set(name, entry);
    if (isHeld(entry)) this.held += entry.amount;
    if (isMark(entry)) this.marks += 1;
    this.touched.names.add(name);
    this.nextLapse = Math.min(this.nextLapse, entry.until);
    this.keepUntil(entry.until);
  }

  remove(name: string): void {
    const entry = this.entries.get(name);
    if (entry === undefined) return;
    this.entries.delete(name);
    if (isHeld(entry)) this.held -= entry.amount;
    if (isMark(entry)) this.marks -= 1;
    this.touched.names.add(name);
  }

  /** It is saved as it is. */
  saved(): void {
    this.touched.minutes.clear();
    this.touched.names.clear();
    this.touched.end = false;
  }

  keepUntil(time: number): void {
    if (time <= this.endsAt) return;
    this.endsAt = time;
    this.touched.end = true;
  }
}

export const isHeld = ({ state }: Entry): boolean => state === 'held' || state === 'unknown';
const isMark = ({ state }: Entry): boolean => state === 'spent' || state === 'given_back';

const BUCKET = /^b:(\d{1,9})$/;
const ENTRY = /^(held|unknown|spent|given_back|success) (\d{1,40}) (\d{1,15}) (\d{1,15}) (\d{1,15})$/;
const AMOUNT = /^\d{1,40}$/;

const isState = (text: string): text is Entry['state'] => STATES.some((state) => state === text);

const readEntry = (text: string): Entry | null => {
  const [, state = '', amount = '', since, until, tentativeUntil] = ENTRY.exec(text) ?? [];
  if (!isState(state)) return null;
  const times = { since: Number(since), until: Number(until), tentativeUntil: Number(tentativeUntil) };
  return { state, amount: BigInt(amount), ...times };
};

const encodeEntry = ({ state, amount, since, until, tentativeUntil }: Entry): string =>
  `${state} ${amount} ${Math.floor(since)} ${Math.ceil(until)} ${Math.ceil(tentativeUntil)}`;

const readBuckets = (count: Count, fields: Fields): void => {
  const buckets: (readonly [minute: number, amount: bigint])[] = [];
  for (const [name, text] of fields) {
    const [, minute] = BUCKET.exec(name) ?? [];
    if (minute !== undefined && AMOUNT.test(text)) buckets.push([Number(minute), BigInt(text)]);
  }
  for (const [minute, amount] of buckets.toSorted(([one], [other]) => one - other)) count.add(minute, amount);
};

const readEntries = (count: Count, fields: Fields): void => {
  const entries: (readonly [name: string, entry: Entry])[] = [];
  for (const [name, text] of fields) {
    const entry = name.startsWith('r:') ? readEntry(text) : null;
    if (entry !== null) entries.push([name.slice(2), entry]);
  }
  for (const [name, entry] of entries.toSorted(([, one], [, other]) => one.since - other.since)) count.set(name, entry);
};

const decode = (fields: Fields): Count => {
  const count = new Count();
  const [, endsAt = '0'] = /^1 (\d{1,15})$/.exec(fields.get('h') ?? '') ?? [];
  count.endsAt = Number(endsAt);
  readBuckets(count, fields);
  readEntries(count, fields);
  count.saved();
  return count;
};

const allOf = ({ buckets, entries }: Count): Count['touched'] => ({
  minutes: new Set(buckets.keys()),
  names: new Set(entries.keys()),
  end: true,
});

const textOf = <Value>(value: Value | undefined, encode: (value: Value) => string): string | null =>
  value === undefined ? null : encode(value);

// Measured as other records: a place in a map with its number, and that of an entry with its name and its object.
const [COUNT_BYTES, BUCKET_BYTES, ENTRY_BYTES] = [500, 80, 300] as const;

/**
 * What rules have counted, a record for each rule and scope: `h`: when it ends, `b:MINUTE`: what was spent in that minute,
 * `r:NAME`: an entry. A day has 1,440 minutes, so only the fields that a decision has touched are written.
 */
export const ruleKind: Kind<Count, { isNew: boolean }> = {
  name: 'rule',
  operations: { short: 'admit', long: 'keyed' },
  // Room is no reason to forget what was spent: their number is bounded where they are opened.
  memory: { records: null, lists: null },
  knownPart: 0.05,
  ttlMs: ({ endsAt }, now) => endsAt - now,
  create: () => new Count(),
  decode,
  toSaved: (_count, { size }) => ({ isNew: size === 0 }),
  changes: (count, saved) => {
    const { minutes, names, end } = saved.isNew ? allOf(count) : count.touched;
    const set: string[] = end ? ['h', `1 ${Math.ceil(count.endsAt)}`] : [];
    const gone: string[] = [];
    const add = (field: string, text: string | null): void => {
      if (text === null) gone.push(field);
      else set.push(field, text);
    };
    for (const minute of minutes) add(`b:${minute}`, textOf(count.buckets.get(minute), String));
    for (const name of names) add(`r:${name}`, textOf(count.entries.get(name), encodeEntry));
    saved.isNew = false;
    return { set, gone };
  },
  ...NO_LIST,
  // The last step of keeping a state in each backend; memory, which writes no fields, asks for nothing else.
  takeAdded: (count) => {
    count.saved();
    return [];
  },
  isEmpty: (count) => count.isEmpty,
  bytes: ({ buckets, entries }) => COUNT_BYTES + BUCKET_BYTES * buckets.size + ENTRY_BYTES * entries.size,
};
