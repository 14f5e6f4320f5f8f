import { randomBytes } from 'node:crypto';
import { parseJson } from 'recourse-server/json/parse-json';
import { newestFirst } from 'recourse-server/routes/list-page';
import type { StoreBackend } from 'recourse-server/sessions/store-backend';
import type { Records } from 'recourse-server/store/record-store';
import { FailedCall } from '../contract/contract.ts';
import { addPart, type CallNotes, type NoteOptions, type TenantNotes } from './call-notes.ts';
import {
  append,
  type Element,
  INDEX_TTL_MS,
  type IndexState,
  indexKind,
  LISTS,
  type ListName,
  MOST_ELEMENTS,
  MOST_ENTRIES,
  readElement,
  replace,
  toElement,
  UNWEIGHED,
  type Weighed,
} from './index-kind.ts';
import {
  mergeParts,
  NO_SESSION,
  placeOf,
  readPart,
  type SessionPart,
  toJson,
  toReset,
  touchedAt,
} from './session-part.ts';

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
  readonly backend: Pick<StoreBackend, 'records' | 'space'>;
  /** The store's time, in Unix milliseconds. */
  readonly time: () => number;
  readonly onDropped: (reason: DropReason, lines: number) => void;
};

const EVERY_MS = 1000;
// One command writes 32 records.
const TENANTS_AT_ONCE = 10;
// Of a second.
const MOST_TENANTS = 100;
/** Lines that wait, of all tenants: some 20 MB. */
const MOST_WAITING = 20_000;
// Of 10,000 tenants. Of a list that is not known its tenant is not charged until it is written again.
const MOST_KNOWN = 30_000;
const CLOSE_MS = 500;
// From so many elements on, those of each session are put together.
const CROWDED = 2 * MOST_ENTRIES;
// Beside its sessions a list keeps so many that were ended: what another replica writes late of one must not bring it back.
const MOST_GONE = MOST_ENTRIES / 2;
const WEIGHT_STEP = 64 * 1024;
// Each write lets a record live for another day: so often its charge is renewed.
const RENEWED_MS = 3_600_000;

/** What a tenant is charged with. `after` null: as before. */
type Charge = { readonly before: Weighed; readonly more: Weighed; readonly after: Weighed | null };
const NO_CHARGE: Charge = { before: UNWEIGHED, more: UNWEIGHED, after: null };

type Addition = {
  readonly tenant: string;
  readonly key: string;
  readonly list: ListName;
  readonly elements: readonly string[];
};
/** What replaces the elements of a list, if nothing was added since. */
type Fold = { readonly appended: number; readonly elements: readonly string[] };

/**
 * Sessions and failed calls of a day, of all replicas. A replica adds what it has noted to lists of each tenant, which needs nothing of
 * what is there; who reads puts together what is of one session, and so does a writer where a list has become long. What is noted goes
 * through these states:
 *
 * | state   | where                 | becomes                                                                                |
 * |---------|-----------------------|----------------------------------------------------------------------------------------|
 * | noted   | `#notes`              | sorted: each second, and when its tenant is read                                       |
 * | sorted  | `#sorted`, by tenant  | writing: each second, of a hundred tenants at most; dropped: 20,000 lines wait already |
 * | writing | `#writing`, by tenant | written; dropped: no room, or the store has failed and may have it or not              |
 */
export class CallIndex {
  readonly #notes: CallNotes;
  readonly #options: CallIndexOptions;
  readonly #records: Records<IndexState>;
  readonly #noteOptions: NoteOptions;
  #sorted = new Map<string, TenantNotes>();
  readonly #writing = new Map<string, Promise<void>>();
  #writingAll: Promise<void> | null = null;
  /** Writes begin until then, of `performance.now()`. */
  #closesAt = Number.POSITIVE_INFINITY;
  /** What this process knows of the lists that it has written. */
  readonly #known = new Map<string, Omit<IndexState, 'added'>>();
  readonly #read = new Map<string, { readonly until: number; readonly base: Promise<TenantIndex> }>();
  #timer: NodeJS.Timeout | undefined;

  constructor(notes: CallNotes, options: CallIndexOptions) {
    this.#notes = notes;
    this.#options = options;
    this.#records = options.backend.records.open(indexKind);
    this.#noteOptions = { ...options, prefix: `${randomBytes(4).toString('hex')}-` };
  }

  start(): void {
    this.#timer = setInterval(() => void this.write(), EVERY_MS).unref();
  }

  /** Writes what is not written yet, as far as half a second allows; the rest is dropped. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#closesAt = performance.now() + CLOSE_MS;
    await this.#writingAll;
    do await this.write();
    while (this.#sorted.size > 0 && performance.now() < this.#closesAt);
    this.#bound(0, 'store');
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
    this.#bound(MOST_WAITING, 'flood');
  }

  /** Drops what is of the tenants that have waited least, beyond so many lines. */
  #bound(most: number, reason: DropReason): void {
    let waiting = 0;
    for (const [tenant, { sessions, calls }] of this.#sorted) {
      const lines = sessions.size + calls.size;
      if (waiting + lines <= most) waiting += lines;
      else {
        this.#sorted.delete(tenant);
        this.#options.onDropped(reason, lines);
      }
    }
  }

  /** Writes what was noted, of ten tenants with one command, and of up to a hundred. Never rejects. */
  write(): Promise<void> {
    // Also while the last write waits for the store: notes of more than a second would be too many.
    this.#sort();
    this.#writingAll ??= this.#writeAll().finally(() => {
      this.#writingAll = null;
    });
    return this.#writingAll;
  }

  async #writeAll(): Promise<void> {
    const tens = Math.ceil(Math.min(this.#sorted.size, MOST_TENANTS) / TENANTS_AT_ONCE);
    for (let ten = 0; ten < tens && performance.now() < this.#closesAt; ten += 1) {
      const some = [...this.#sorted].slice(0, TENANTS_AT_ONCE);
      const writing = this.#write(some);
      for (const [tenant] of some) this.#writing.set(tenant, writing);
      await writing;
      this.#writing.clear();
    }
  }

  async #write(some: readonly (readonly [string, TenantNotes])[]): Promise<void> {
    for (const [tenant] of some) this.#sorted.delete(tenant);
    const additions = some.flatMap(([tenant, notes]) => this.#toAdditions(tenant, notes));
    // First, so that all updates are of one turn of the event loop, and one command.
    const prepared = await Promise.all(
      additions.map(async (addition) => [addition, await this.#charge(addition), await this.#fold(addition)] as const),
    );
    await Promise.all(prepared.map((one) => this.#update(...one)));
    for (const [tenant] of some) this.#read.delete(tenant);
  }

  #toAdditions(tenant: string, { sessions, calls }: TenantNotes): readonly Addition[] {
    const elements: Record<ListName, string[]> = { failed: [], active: [], calls: [] };
    for (const [id, part] of sessions) {
      const list = this.#notes.listOf(`${tenant}:${id}`, part);
      elements[list].push(toSessionElement([id, part]));
      if (part.endedAt === 0) continue;
      // Each list is made short by itself, and both may have what was before the end.
      const end = { ...NO_SESSION, endedAt: part.endedAt };
      elements[list === 'failed' ? 'active' : 'failed'].push(toSessionElement([id, end]));
    }
    for (const [id, { at, call }] of calls) elements.calls.push(toElement({ at, id, json: JSON.stringify(call) }));
    return LISTS.filter((list) => elements[list].length > 0).map((list) => ({
      ...{ tenant, list, key: keyOf(tenant, list), elements: elements[list] },
    }));
  }

  /** Charges the tenant with what its list takes, where that has grown. null: there is no room. */
  async #charge({ tenant, key }: Addition): Promise<Charge | null> {
    const { backend, time } = this.#options;
    const { bytes, weighed } = this.#known.get(key) ?? { bytes: 0, weighed: UNWEIGHED };
    if (bytes === 0 || (bytes <= weighed.bytes && weighed.endsAt > time() + INDEX_TTL_MS)) return NO_CHARGE;
    const endsAt = time() + INDEX_TTL_MS + RENEWED_MS;
    const after = { bytes: Math.ceil(bytes / WEIGHT_STEP) * WEIGHT_STEP, endsAt };
    const more = { bytes: Math.max(0, after.bytes - weighed.bytes), endsAt };
    return (await backend.space.take(tenant, 'index', more)) === null ? { before: weighed, more, after } : null;
  }

  /** What a list of sessions that has become long comes to. null: it has not, or cannot be read. */
  async #fold({ key, list }: Addition): Promise<Fold | null> {
    if (list === 'calls' || (this.#known.get(key)?.kept ?? 0) < CROWDED) return null;
    try {
      const appended = await this.#records.read(key, (state) => state.appended);
      const elements = await this.#records.list(key, MOST_ELEMENTS);
      const sessions = foldSessions(groupBySession(elements, this.#options.time() - INDEX_TTL_MS));
      return { appended: appended ?? 0, elements: sessions.toReversed() };
    } catch {
      // Another time: the observer of the store has told of it.
      return null;
    }
  }

  async #update({ tenant, key, list, elements }: Addition, charge: Charge | null, fold: Fold | null): Promise<void> {
    const { backend, onDropped } = this.#options;
    if (charge === null) {
      onDropped('room', elements.length);
      return;
    }
    const add = (state: IndexState): Omit<IndexState, 'added'> => {
      state.weighed = charge.after ?? state.weighed;
      if (fold !== null && fold.appended === state.appended) replace(state, fold.elements);
      append(state, elements, list === 'calls' ? MOST_ENTRIES : MOST_ELEMENTS);
      const { appended, kept, bytes, weighed } = state;
      return { appended, kept, bytes, weighed };
    };
    try {
      this.#remember(key, await this.#records.update(key, add, 'long'));
      if (charge.after === null) return;
      // What was charged until now is charged until later.
      backend.space.give(tenant, charge.before);
      backend.space.add(tenant, { ...charge.after, bytes: charge.after.bytes - charge.more.bytes });
    } catch {
      // The observer of the store has told of it.
      if (charge.after !== null) backend.space.give(tenant, charge.more);
      this.#known.delete(key);
      onDropped('store', elements.length);
    }
  }

  #remember(key: string, state: Omit<IndexState, 'added'>): void {
    this.#known.delete(key);
    const [oldest] = this.#known.size < MOST_KNOWN ? [] : this.#known.keys();
    if (oldest !== undefined) this.#known.delete(oldest);
    this.#known.set(key, state);
  }

  /** All that is known of a tenant, what this process has noted included. Rejects with the store. */
  readonly read = async (tenant: string): Promise<TenantIndex> => {
    await this.#writing.get(tenant);
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
    const since = this.#options.time() - INDEX_TTL_MS;
    const list = async (name: ListName): Promise<readonly string[]> =>
      this.#records.list(keyOf(tenant, name), MOST_ELEMENTS);
    const [failed, active, calls] = await Promise.all([list('failed'), list('active'), list('calls')]);
    const sessions = mergeLists(groupBySession(failed, since), groupBySession(active, since));
    const elements = calls.flatMap(readElement).filter(({ at }) => at > since);
    return { sessions, calls: elements.toSorted(newestFirst).flatMap(readCall) };
  }
}

const keyOf = (tenant: string, list: ListName): string => `${tenant}:${list}`;

/** The elements of each session, by its hash. */
const groupBySession = (elements: readonly string[], since: number): Map<string, Element[]> => {
  const sessions = new Map<string, Element[]>();
  for (const element of elements.flatMap(readElement)) {
    if (element.at <= since) continue;
    const said = sessions.get(element.id);
    if (said === undefined) sessions.set(element.id, [element]);
    else said.push(element);
  }
  return sessions;
};

/** null: none of them can be read. */
const mergeSaid = (said: readonly Element[]): SessionPart | null => {
  const parts = said.map(({ json }) => readPart(json)).filter((part) => part !== null);
  return parts.length === 0 ? null : parts.reduce(mergeParts, NO_SESSION);
};

/** The sessions of both lists, as many as each has of those that were not ended. */
const mergeLists = (failing: Map<string, Element[]>, others: Map<string, Element[]>): Map<string, SessionPart> => {
  for (const [hash, said] of failing) {
    said.push(...(others.get(hash) ?? []));
    others.delete(hash);
  }
  const sessions = new Map<string, SessionPart>();
  const left = { failed: MOST_ENTRIES, active: MOST_ENTRIES, gone: MOST_GONE };
  for (const { id, said } of [...latestFirst(failing), ...latestFirst(others)]) {
    if (left.active <= 0 && !failing.has(id)) break;
    const part = mergeSaid(said);
    if (part === null) continue;
    const place = placeOf(part);
    left[place] -= 1;
    if (left[place] >= 0) sessions.set(id, part);
  }
  return sessions;
};

const toSessionElement = ([id, part]: readonly [string, SessionPart]): string =>
  toElement({ at: touchedAt(part), id, json: toJson(part) });

const MAY_BE_GONE = /"(?:endedAt|resets)":/;

/** As many sessions as a list has, the latest first, each as one element. Those that were ended take no place of the others. */
const foldSessions = (sessions: ReadonlyMap<string, readonly Element[]>): readonly string[] => {
  const left = { listed: MOST_ENTRIES, gone: MOST_GONE };
  return latestFirst(sessions).flatMap(({ id, said }) => {
    // A lone one is not read: most are, where sessions are many.
    const isRead = said.length > 1 || said.some(({ json }) => MAY_BE_GONE.test(json));
    const part = isRead ? mergeSaid(said) : null;
    const place = part !== null && placeOf(part) === 'gone' ? 'gone' : 'listed';
    left[place] -= 1;
    if (left[place] < 0) return [];
    return part === null ? said.slice(0, 1).map(toElement) : [toSessionElement([id, part])];
  });
};

type Said = { readonly id: string; readonly said: readonly Element[] };

const latestFirst = (sessions: ReadonlyMap<string, readonly Element[]>): readonly Said[] =>
  [...sessions]
    .map(([id, said]) => ({ id, said, at: said.reduce((latest, { at }) => Math.max(latest, at), 0) }))
    .toSorted((one, other) => other.at - one.at);

const readCall = ({ id, at, json }: Element): readonly ListedCall[] => {
  const parsed = parseJson(json);
  const call = parsed.ok ? FailedCall.safeParse(parsed.value).data : undefined;
  return call === undefined ? [] : [{ id, at, call }];
};
