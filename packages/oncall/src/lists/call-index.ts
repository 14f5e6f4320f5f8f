import { randomBytes, randomInt } from 'node:crypto';
import { parseJson } from 'recourse-server/json/parse-json';
import { newestFirst } from 'recourse-server/routes/list-page';
import type { StoreBackend } from 'recourse-server/sessions/store-backend';
import type { Records } from 'recourse-server/store/record-store';
import { FailedCall } from '../contract.ts';
import { addPart, type CallNotes, type NoteOptions, type TenantNotes } from './call-notes.ts';
import {
  INDEX_TTL_MS,
  type IndexState,
  indexKind,
  MOST_ENTRIES,
  putEntry,
  timeOf,
  UNWEIGHED,
  weighIndex,
} from './index-kind.ts';
import { mergeParts, NO_SESSION, readPart, type SessionPart, toEntry, toReset } from './session-part.ts';

/** A failed call, and where it stands in lists. */
export type ListedCall = { readonly id: string; readonly at: number; readonly call: FailedCall };

/** What is known of a tenant: sessions by their hashes, and failed calls, newest first. */
export type TenantIndex = {
  readonly sessions: ReadonlyMap<string, SessionPart>;
  readonly calls: readonly ListedCall[];
};

/** Why lines are not in the lists: too many of a second, no room for their tenant, or the store has failed. */
export type DropReason = 'flood' | 'room' | 'store';

export type CallIndexOptions = Omit<NoteOptions, 'prefix'> & {
  readonly backend: Pick<StoreBackend, 'records' | 'space' | 'shared'>;
  /** The store's time, in Unix milliseconds. */
  readonly time: () => number;
  readonly onDropped: (reason: DropReason, lines: number) => void;
};

const EVERY_MS = 1000;
// Records that one command writes.
const MOST_TENANTS = 32;
// A record that two replicas write is sent whole to one of them each time: each finds one that it has alone.
const SLOTS = 4;
const CROWDED_AFTER = 2;
const WEIGHT_STEP = 64 * 1024;
// Each write lets a record live for another day: so often its charge is renewed.
const RENEWED_MS = 3_600_000;

type Weighed = IndexState['weighed'];
/** What a tenant is charged with. `after` null: as before. */
type Charge = { readonly before: Weighed; readonly more: Weighed; readonly after: Weighed | null };
const NO_CHARGE: Charge = { before: UNWEIGHED, more: UNWEIGHED, after: null };

/**
 * Sessions and failed calls of a day, of all replicas. A replica writes what it has noted into one of a few records of each tenant;
 * who reads puts them together. What is noted goes through these states:
 *
 * | state    | where                | becomes                                                                      |
 * |----------|----------------------|------------------------------------------------------------------------------|
 * | noted    | `notes`              | sorted: each second, and when it is read                                      |
 * | sorted   | `sorted`, by tenant  | writing: each second, of 32 tenants                                           |
 * | writing  | `writing`            | written; dropped: no room, or the store has failed and may have it or not     |
 */
export class CallIndex {
  readonly #notes: CallNotes;
  readonly #options: CallIndexOptions;
  readonly #records: Records<IndexState>;
  readonly #slots: number;
  readonly #noteOptions: NoteOptions;
  #sorted = new Map<string, TenantNotes>();
  #writing: Promise<void> | null = null;
  /** Bytes of the records that this process writes, and what of them is charged. */
  readonly #weights = new Map<string, { readonly bytes: number; readonly weighed: Weighed }>();
  readonly #read = new Map<string, { readonly until: number; readonly base: Promise<TenantIndex> }>();
  #slot: number;
  #crowded = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(notes: CallNotes, options: CallIndexOptions) {
    this.#notes = notes;
    this.#options = options;
    this.#records = options.backend.records.open(indexKind);
    this.#slots = options.backend.shared === null ? 1 : SLOTS;
    this.#slot = randomInt(this.#slots);
    this.#noteOptions = { ...options, prefix: `${randomBytes(4).toString('hex')}-` };
  }

  start(): void {
    this.#timer = setInterval(() => void this.write(), EVERY_MS).unref();
  }

  /** Writes what is not written yet; best effort. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.write();
    await this.write();
  }

  /** A session was ended, or the budget of a tool of it was reset, of all with null. */
  readonly ended = (sessionKey: string): void =>
    this.#note(sessionKey, { ...NO_SESSION, endedAt: this.#options.time() });
  readonly reset = (sessionKey: string, tool: string | null): void =>
    this.#note(sessionKey, toReset(tool, this.#options.time()));

  #note(sessionKey: string, part: SessionPart): void {
    this.#sort();
    addPart(this.#sorted, sessionKey, part);
  }

  #sort(): void {
    const { time, onDropped } = this.#options;
    const dropped = this.#notes.sort(this.#sorted, time() - Date.now(), this.#noteOptions);
    if (dropped > 0) onDropped('flood', dropped);
  }

  /** Writes what was noted of up to 32 tenants. Never rejects. */
  write(): Promise<void> {
    this.#writing ??= this.#write().finally(() => {
      this.#writing = null;
    });
    return this.#writing;
  }

  async #write(): Promise<void> {
    this.#sort();
    const some = [...this.#sorted].slice(0, MOST_TENANTS);
    for (const [tenant] of some) this.#sorted.delete(tenant);
    // First, so that all updates are of one turn of the event loop, and one command.
    const weighed = await Promise.all(some.map(([tenant]) => this.#weigh(tenant)));
    const updates = some.map(([tenant, notes], place) => this.#update(tenant, notes, weighed[place] ?? null));
    const runs = await Promise.all(updates);
    for (const [tenant] of some) this.#read.delete(tenant);
    this.#crowded = runs.includes('crowded') ? this.#crowded + 1 : 0;
    if (this.#crowded < CROWDED_AFTER) return;
    this.#slot = randomInt(this.#slots);
    this.#crowded = 0;
  }

  #keyOf(tenant: string, slot: number = this.#slot): string {
    return `${tenant}:${slot}`;
  }

  /** Charges the tenant with what its record takes, where that has grown. null: there is no room. */
  async #weigh(tenant: string): Promise<Charge | null> {
    const { backend, time } = this.#options;
    const known = this.#weights.get(this.#keyOf(tenant));
    if (known === undefined) return NO_CHARGE;
    const { bytes, weighed } = known;
    if (bytes <= weighed.bytes && weighed.endsAt > time() + INDEX_TTL_MS) return NO_CHARGE;
    const after = { bytes: Math.ceil(bytes / WEIGHT_STEP) * WEIGHT_STEP, endsAt: time() + INDEX_TTL_MS + RENEWED_MS };
    const more = { bytes: Math.max(0, after.bytes - weighed.bytes), endsAt: after.endsAt };
    return (await backend.space.take(tenant, 'index', more)) === null ? { before: weighed, more, after } : null;
  }

  async #update(tenant: string, notes: TenantNotes, charge: Charge | null): Promise<'crowded' | 'alone'> {
    const lines = notes.sessions.size + notes.calls.size;
    if (charge === null) {
      this.#options.onDropped('room', lines);
      return 'alone';
    }
    const { space } = this.#options.backend;
    const key = this.#keyOf(tenant);
    const isKnown = this.#weights.has(key);
    let runs = 0;
    const add = (state: IndexState, now: number) => {
      runs += 1;
      state.weighed = charge.after ?? state.weighed;
      addNotes(state, notes, now);
      return { bytes: weighIndex(state), weighed: { ...state.weighed } };
    };
    try {
      this.#weights.set(key, await this.#records.update(key, add, 'long'));
      if (charge.after !== null) {
        // What was charged until now is charged until later.
        space.give(tenant, charge.before);
        space.add(tenant, { ...charge.after, bytes: charge.after.bytes - charge.more.bytes });
      }
    } catch {
      // The observer of the store has told of it.
      if (charge.after !== null) space.give(tenant, charge.more);
      this.#weights.delete(key);
      this.#options.onDropped('store', lines);
    }
    return isKnown && runs > 1 ? 'crowded' : 'alone';
  }

  /** All that is known of a tenant, what this process has noted included. Rejects with the store. */
  readonly read = async (tenant: string): Promise<TenantIndex> => {
    await this.#writing;
    const base = await this.#readStored(tenant);
    this.#sort();
    const own = this.#sorted.get(tenant);
    if (own === undefined) return base;
    const sessions = new Map(base.sessions);
    for (const [hash, part] of own.sessions) sessions.set(hash, mergeParts(sessions.get(hash) ?? NO_SESSION, part));
    const calls = [...base.calls, ...[...own.calls].map(([id, { at, call }]) => ({ id, at, call }))];
    return { sessions, calls: calls.toSorted(newestFirst).slice(0, MOST_ENTRIES) };
  };

  // Who turns pages asks again and again: the store is asked once a second and tenant.
  #readStored(tenant: string): Promise<TenantIndex> {
    const now = performance.now();
    const known = this.#read.get(tenant);
    if (known !== undefined && known.until > now) return known.base;
    for (const [other, { until }] of this.#read) if (until <= now) this.#read.delete(other);
    const base = this.#load(tenant);
    this.#read.set(tenant, { until: now + EVERY_MS, base });
    base.catch(() => this.#read.delete(tenant));
    return base;
  }

  async #load(tenant: string): Promise<TenantIndex> {
    const copy = ({ failed, active, calls }: IndexState) => ({ sessions: [...failed, ...active], calls: [...calls] });
    const keys = Array.from({ length: this.#slots }, (_, slot) => this.#keyOf(tenant, slot));
    const read = (await Promise.all(keys.map((key) => this.#records.read(key, copy)))).filter((one) => one !== null);
    const since = this.#options.time() - INDEX_TTL_MS;
    const sessions = new Map<string, SessionPart>();
    for (const [hash, entry] of read.flatMap((one) => one.sessions)) {
      const part = timeOf(entry) > since ? readPart(entry) : null;
      if (part !== null) sessions.set(hash, mergeParts(sessions.get(hash) ?? NO_SESSION, part));
    }
    const calls = read.flatMap((one) => one.calls.map(([id, entry]) => ({ id, at: timeOf(entry), entry })));
    const latest = calls.filter(({ at }) => at > since).toSorted(newestFirst);
    return { sessions, calls: latest.slice(0, MOST_ENTRIES).flatMap(readCall) };
  }
}

const addNotes = (state: IndexState, notes: TenantNotes, now: number): void => {
  for (const [hash, part] of notes.sessions) addSession(state, hash, part, now);
  for (const [id, { at, call }] of notes.calls) putEntry(state.calls, id, `${at} ${JSON.stringify(call)}`, now);
};

const addSession = (state: IndexState, hash: string, noted: SessionPart, now: number): void => {
  const before = readPart(state.failed.get(hash) ?? state.active.get(hash) ?? '') ?? NO_SESSION;
  const part = mergeParts(before, noted);
  // An end and a reset are remembered as long as a failure: what other records say of the session must not come back.
  const hasFailed = part.failures > 0 || part.endedAt > 0 || part.resets.length > 0;
  (hasFailed ? state.active : state.failed).delete(hash);
  putEntry(hasFailed ? state.failed : state.active, hash, toEntry(part), now);
};

const readCall = ({ id, at, entry }: { readonly id: string; readonly at: number; readonly entry: string }) => {
  const parsed = parseJson(entry.slice(entry.indexOf(' ') + 1));
  const call = parsed.ok ? FailedCall.safeParse(parsed.value).data : undefined;
  return call === undefined ? [] : [{ id, at, call }];
};
