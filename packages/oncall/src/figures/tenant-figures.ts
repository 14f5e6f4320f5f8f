import type { RecordStore, Records } from 'recourse-server/store/record-store';
import type { HourFigures } from '../contract.ts';
import type { CallCounts } from './call-counts.ts';
import { type FailureRun, FailureRuns, readRuns } from './failure-runs.ts';
import { hourKind, writersKind } from './hour-kind.ts';
import { HourSums } from './hour-sums.ts';
import { hourKeyOf, writersKeyOf } from './hour-writer.ts';
import { MINUTE_MS, MINUTES } from './tenant-hour.ts';

/** The hour of one process, as it was read. Minutes since 1970 as texts, with the names in them. */
type Hour = {
  readonly names: readonly string[];
  readonly minutes: ReadonlyMap<number, string>;
  readonly runs: readonly FailureRun[];
};
type StoredHour = Hour & { readonly write: string };

type Added = { readonly id: string; readonly at: number; readonly text: string; readonly names: readonly string[] };
/** Sums for those who may use the same tools, and what is in them, by process and minute. */
type Group = { readonly sums: HourSums; readonly added: Map<string, Added>; usedAt: number };

const GROUP_IDLE_MS = 60_000;
const MOST_GROUPS = 16;

/** What is known of one tenant's last hour in all processes. It is read while somebody asks. */
export class TenantFigures {
  readonly #tenant: string;
  readonly #counts: CallCounts;
  readonly #hours: Records<Map<string, string>>;
  readonly #writers: Records<Map<string, number>>;
  readonly #stored = new Map<string, StoredHour>();
  readonly #groups = new Map<(tool: string) => boolean, Group>();
  #readMinute = 0;
  /** When somebody asked last, by the store's time. */
  usedAt = 0;

  constructor(tenant: string, counts: CallCounts, store: RecordStore) {
    this.#tenant = tenant;
    this.#counts = counts;
    this.#hours = store.open(hourKind);
    this.#writers = store.open(writersKind);
  }

  /** Reads what other processes have written since the last time. Rejects with the store. */
  async refresh(): Promise<void> {
    const { minute } = this.#counts;
    const writers = await this.#writers.read(writersKeyOf(this.#tenant), (record) => [...record.keys()]);
    const own = this.#counts.hours.get(this.#tenant)?.id;
    const others = (writers ?? []).filter((id) => id !== own);
    const read = await Promise.all(others.map((id) => this.#readHour(id, minute)));
    const gone = new Set(this.#stored.keys());
    for (const [place, hour] of read.entries()) {
      const id = others[place] ?? '';
      if (hour === null) continue;
      gone.delete(id);
      this.#stored.set(id, hour);
    }
    for (const id of gone) this.#stored.delete(id);
    this.#readMinute = minute;
  }

  /** What a process has written; null: its record is gone. */
  async #readHour(id: string, minute: number): Promise<StoredHour | null> {
    const key = hourKeyOf(this.#tenant, id);
    const known = this.#stored.get(id);
    if (known === undefined) return this.#hours.read(key, (record) => decodeHour(record, []));
    const write = await this.#hours.read(key, (record) => record.get('h') ?? '', ['h']);
    if (write === null || write === known.write) return write === null ? null : known;
    // A minute is written once more when it is over, and a process may be late.
    const first = this.#readMinute - 3;
    const fields = Array.from({ length: Math.max(1, minute - first + 2) }, (_, place) => `m:${first + place}`);
    if (fields.length > MINUTES) return this.#hours.read(key, (record) => decodeHour(record, []));
    return this.#hours.read(key, (record) => decodeHour(record, known.minutes), ['h', 'n', 'f', ...fields]);
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

const decodeHour = (record: ReadonlyMap<string, string>, known: Iterable<readonly [number, string]>): StoredHour => {
  const minutes = new Map(known);
  for (const [name, text] of record) if (name.startsWith('m:')) minutes.set(Number(name.slice(2)), text);
  const last = Math.max(0, ...minutes.keys());
  for (const minute of minutes.keys()) if (minute < last - MINUTES) minutes.delete(minute);
  return {
    write: record.get('h') ?? '',
    names: (record.get('n') ?? '').split(' '),
    minutes,
    runs: readRuns(record.get('f') ?? ''),
  };
};
