import { createTextKind } from 'recourse-server/store/text-kind';

/** How long an entry is listed, in milliseconds. */
export const INDEX_TTL_MS = 24 * 60 * 60 * 1000;
/** Entries of a ring: those that are older are dropped. */
export const MOST_ENTRIES = 1000;

/** Entries by their ids, oldest first: of each its time in Unix milliseconds, a space, and JSON text. */
export type Ring = Map<string, string>;

/** Sessions that have failed, sessions that have not, and failed calls. */
const RINGS = ['failed', 'active', 'calls'] as const;
export type RingName = (typeof RINGS)[number];

/**
 * What some replicas have noted of the sessions and failures of a tenant. Sessions that only succeed have a ring of their own: they
 * displace none that has failed.
 */
export type IndexState = Readonly<Record<RingName, Ring>> & {
  /** What of it the tenant's part of the store has been charged with, and until when. */
  weighed: { readonly bytes: number; readonly endsAt: number };
};

export const UNWEIGHED: IndexState['weighed'] = { bytes: 0, endsAt: 0 };

/** Unix milliseconds; NaN: the entry is damaged. */
export const timeOf = (entry: string): number => Number(/^\d{1,15}(?= )/.exec(entry)?.[0] ?? Number.NaN);

/** Adds an entry as the youngest of its ring, and drops what is too much or too old. */
export const putEntry = (ring: Ring, id: string, entry: string, now: number): void => {
  ring.delete(id);
  ring.set(id, entry);
  for (const [oldest, text] of ring) {
    if (ring.size <= MOST_ENTRIES && timeOf(text) > now - INDEX_TTL_MS) break;
    ring.delete(oldest);
  }
};

const FIELD = /^(failed|active|calls):(.+)$/;
const isRing = (name: string | undefined): name is RingName => RINGS.some((ring) => ring === name);

const createState = (): IndexState => ({
  failed: new Map(),
  active: new Map(),
  calls: new Map(),
  weighed: UNWEIGHED,
});

/** What the state takes of a store, in bytes, about. */
export const weighIndex = (state: IndexState): number => {
  let bytes = 200;
  for (const name of RINGS) for (const [id, entry] of state[name]) bytes += 120 + id.length + entry.length;
  return bytes;
};

/** A field for each entry: an update writes what it adds and drops alone. One that is damaged goes with the next update. */
export const indexKind = createTextKind<IndexState>({
  name: 'oncall-index',
  operation: 'oncall',
  own: /^(?:(?:failed|active|calls):|weighed$)/,
  memory: { records: 'oncall', lists: null },
  knownPart: 0.04,
  ttlMs: INDEX_TTL_MS,
  create: createState,
  decode: (fields) => {
    const state = createState();
    const entries = [...fields].map(([field, text]) => [timeOf(text), field, text] as const);
    for (const [time, field, text] of entries.toSorted(([one], [other]) => one - other)) {
      const [, name, id = ''] = FIELD.exec(field) ?? [];
      if (isRing(name) && time > 0) state[name].set(id, text);
    }
    const [bytes = 0, endsAt = 0] =
      /^\d{1,15} \d{1,15}$/
        .exec(fields.get('weighed') ?? '')?.[0]
        .split(' ')
        .map(Number) ?? [];
    state.weighed = { bytes, endsAt };
    return state;
  },
  toTexts: (state) => {
    const { bytes, endsAt } = state.weighed;
    const texts = new Map([['weighed', `${bytes} ${endsAt}`]]);
    for (const name of RINGS) for (const [id, entry] of state[name]) texts.set(`${name}:${id}`, entry);
    return texts;
  },
  isEmpty: ({ failed, active, calls }) => failed.size + active.size + calls.size === 0,
  bytes: weighIndex,
});
