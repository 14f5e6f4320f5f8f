import type { HourFigures } from '../contract/contract.ts';
import type { CallCounts } from './call-counts.ts';
import { type FailureRun, FailureRuns, readRuns } from './failure-runs.ts';
import { type HourRecords, hourKeyOf, writersKeyOf } from './hour-kind.ts';
import { HourSums } from './hour-sums.ts';
import { MINUTE_MS, MINUTES } from './tenant-hour.ts';

/** The hour of one process, as it was read. Minutes since 1970 as texts, with the names in them. */
type Hour = {
  readonly names: readonly string[];
  readonly minutes: ReadonlyMap<number, string>;
  readonly runs: readonly FailureRun[];
};
/** `write`: the number of the write that it was read of. */
type StoredHour = Hour & { readonly write: string; readonly namesText: string };

type Added = { readonly id: string; readonly at: number; readonly text: string; readonly names: readonly string[] };
/** Sums for those who may use the same tools, and what is in them, by process and minute. */
type Group = { readonly sums: HourSums; readonly added: Map<string, Added>; usedAt: number };

const SHARED_MS = 1000;
const GROUP_IDLE_MS = 60_000;
const MOST_GROUPS = 16;

/** What is known of one tenant's last hour in all processes. It is read while somebody asks. */
export class TenantFigures {
  readonly #tenant: string;
  readonly #counts: CallCounts;
  /** null: no other process has any. */
  readonly #records: HourRecords | null;
  readonly #stored = new Map<string, StoredHour>();
  readonly #groups = new Map<(tool: string) => boolean, Group>();
  #refreshing: Promise<void> = Promise.resolve();
  #refreshedAt = Number.NEGATIVE_INFINITY;
  /** When somebody asked last, by the store's time. */
  usedAt = 0;

  constructor(tenant: string, counts: CallCounts, records: HourRecords | null) {
    this.#tenant = tenant;
    this.#counts = counts;
    this.#records = records;
  }

  /** Reads what other processes have written since the last time; one reading serves all within a second. Rejects with the store. */
  refresh(): Promise<void> {
    const now = performance.now();
    if (this.#records === null || now - this.#refreshedAt < SHARED_MS) return this.#refreshing;
    this.#refreshedAt = now;
    this.#refreshing = this.#refresh(this.#records);
    return this.#refreshing;
  }

  async #refresh(records: HourRecords): Promise<void> {
    const { minute } = this.#counts;
    const writers = await records.writers.read(writersKeyOf(this.#tenant), (record) => [...record.keys()]);
    const own = this.#counts.hours.get(this.#tenant)?.id;
    const others = (writers ?? []).filter((id) => id !== own);
    const read = await Promise.all(others.map((id) => this.#readHour(records, id, minute)));
    const gone = new Set(this.#stored.keys());
    for (const [place, hour] of read.entries()) {
      const id = others[place] ?? '';
      if (hour === null) continue;
      gone.delete(id);
      this.#stored.set(id, hour);
    }
    for (const id of gone) this.#stored.delete(id);
  }

  /** What a process has written; null: its record is gone. */
  async #readHour({ hours }: HourRecords, id: string, minute: number): Promise<StoredHour | null> {
    const key = hourKeyOf(this.#tenant, id);
    const known = this.#stored.get(id);
    const decode = (record: ReadonlyMap<string, string>): StoredHour => decodeHour(record, known ?? null);
    if (known === undefined) return hours.read(key, decode);
    const write = await hours.read(key, (record) => record.get('h') ?? '', ['h']);
    if (write === null || write === known.write) return write === null ? null : known;
    // Those before its last one are over, and written.
    const first = Math.max(minute - MINUTES, ...known.minutes.keys());
    const fields = Array.from({ length: Math.max(1, minute - first + 2) }, (_, place) => `m:${first + place}`);
    return hours.read(key, decode, ['h', 'n', 'f', ...fields]);
  }

  /** The last hour as far as it is known. `now`: the store's time. */
  describe(mayUse: (tool: string) => boolean, now: number): HourFigures {
    const { minute } = this.#counts;
    const hours = this.#listHours(minute);
    const group = this.#findGroup(mayUse, now);
    bringUpToDate(group, hours, minute);
    const runs = new FailureRuns();
    for (const hour of hours.values()) runs.add(hour.runs.filter(({ last }) => last > now - MINUTES * MINUTE_MS));
    return group.sums.describe(minute, now, runs);
  }

  #listHours(minute: number): ReadonlyMap<string, Hour> {
    const hours = new Map<string, Hour>(this.#stored);
    const own = this.#counts.hours.get(this.#tenant);
    if (own === undefined) return hours;
    const text = own.encodeNow();
    const minutes = text === '' ? own.minutes : new Map(own.minutes).set(minute, text);
    return hours.set(own.id, { names: own.names.list, minutes, runs: own.runs.list() });
  }

  #findGroup(mayUse: (tool: string) => boolean, now: number): Group {
    const group = this.#groups.get(mayUse) ?? { sums: new HourSums(mayUse), added: new Map(), usedAt: now };
    group.usedAt = now;
    this.#groups.delete(mayUse);
    this.#groups.set(mayUse, group);
    for (const [key, { usedAt }] of this.#groups)
      if (usedAt < now - GROUP_IDLE_MS || this.#groups.size > MOST_GROUPS) this.#groups.delete(key);
    return group;
  }
}

/** Takes out of the sums what has changed or is over, and adds what is new. */
const bringUpToDate = ({ sums, added }: Group, hours: ReadonlyMap<string, Hour>, minute: number): void => {
  const first = minute - MINUTES + 1;
  for (const [key, { id, at, text, names }] of added) {
    if (at >= first && hours.get(id)?.minutes.get(at) === text) continue;
    sums.add(at, text, names, -1);
    added.delete(key);
  }
  for (const [id, hour] of hours) addNew({ sums, added }, id, hour, [first, minute]);
};

const addNew = (
  { sums, added }: Pick<Group, 'sums' | 'added'>,
  id: string,
  { names, minutes }: Hour,
  [first, last]: readonly [number, number],
): void => {
  for (const [at, text] of minutes) {
    const key = `${id} ${at}`;
    if (at < first || at > last || added.has(key)) continue;
    sums.add(at, text, names, 1);
    added.set(key, { id, at, text, names });
  }
};

/** What a record has, beside what is known of it already. */
const decodeHour = (record: ReadonlyMap<string, string>, known: StoredHour | null): StoredHour => {
  const minutes = new Map(known?.minutes);
  for (const [name, text] of record) if (name.startsWith('m:')) minutes.set(Number(name.slice(2)), text);
  const last = Math.max(0, ...minutes.keys());
  for (const minute of minutes.keys()) if (minute <= last - MINUTES) minutes.delete(minute);
  const namesText = record.get('n') ?? '';
  return {
    write: record.get('h') ?? '',
    namesText,
    names: namesText === known?.namesText ? known.names : namesText.split(' '),
    minutes,
    runs: readRuns(record.get('f') ?? ''),
  };
};
