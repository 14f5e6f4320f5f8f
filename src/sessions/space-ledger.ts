import type { Droppable } from '../executor/store-observer.ts';

/** What stores ask before they keep something that can be lost. */
export type StoreSpace = {
  /**
   * Counts so many bytes of a session or a record at once, or refuses them: its tenant holds its part, or the store is
   * nearly full. What is refused must not be kept. `key` is `tenant:hash`.
   */
  readonly reserve: (what: Droppable, key: string, bytes: number) => 'kept' | 'refused';
};

/** A store that refuses nothing. */
export const BOUNDLESS_SPACE: StoreSpace = { reserve: () => 'kept' };

/** One entry of a log: what is kept there and where, as a word without blanks. */
export type Entry = { readonly what: Droppable; readonly key: string; readonly bytes: number };

/** What one tenant has kept and the log does not have yet; `words` is "" where there is nothing. */
type TenantEntries = { readonly tenant: string; readonly bytes: number; readonly words: string };

/** How much may be kept, in bytes: until it is told anew, by this process for all tenants, and by all for one tenant. */
type SpaceLimits = { readonly room: number; readonly part: number };

/** What this process has kept since all replicas were told, and what it knows of their tenants. */
export type SpaceLedger = StoreSpace & {
  /** Enters what is kept already; refuses nothing. */
  readonly enter: (entry: Entry) => void;
  /** What goes into the logs now: of each tenant that is active here. */
  readonly take: () => readonly TenantEntries[];
  /** What was taken is entered; `bytes` in the order of what was taken, of all replicas. */
  readonly learn: (taken: readonly TenantEntries[], bytes: readonly number[], limits: SpaceLimits) => void;
  /** What was taken may not have been entered: it is taken again. Counted twice is dropped early, unknown never. */
  readonly putBack: (taken: readonly TenantEntries[]) => void;
};

type Owner = {
  readonly tenant: string;
  /** What all replicas have kept, as far as they have said. */
  shared: number;
  /** What this one has kept since. */
  added: number;
  /** What the log does not have yet: entries by kind and hash. */
  entries: Map<string, number>;
  takenAt: number;
  usedAt: number;
};

// Keys, list nodes and the entry in the log, for each time something is kept.
const ENTRY_BYTES = 160;
// The rows of ten calls in the hash of a session.
const STREAKS_BYTES = 640;
// A log of many small chunks would weigh as much as what it names.
const CHUNK_ENTRIES = 128;
// What is dropped in a few commands.
const MAX_CHUNK_ENTRIES = 512;
const CHUNK_BYTES = 1024 * 1024;
// Of a small Redis a chunk is dropped whole, too.
const CHUNKS_OF_PART = 16;
const CHUNK_AGE_MS = 10_000;
const FORGET_AFTER_MS = 60_000;
// Lua's unpack ends near 8 000 words. Further tenants are told of a second later: whose turn it was goes to the end.
const MAX_TENANTS_AT_ONCE = 2000;

const LETTER = { journal: 'j', result: 'r' } as const satisfies Record<Droppable, string>;

/**
 * The ledger of a process. `wake` is called when half of the room is used: what others have kept meanwhile should be
 * asked for at once.
 */
export const createSpaceLedger = (options: {
  readonly limits: SpaceLimits;
  readonly now: () => number;
  readonly wake: () => void;
}): SpaceLedger => {
  const { now, wake } = options;
  const owners = new Map<string, Owner>();
  let { limits } = options;
  let used = 0;
  let usedBefore = 0;
  const enter = (owner: Owner, word: string, bytes: number): void => {
    owner.added += bytes;
    used += bytes;
    owner.usedAt = now();
    owner.entries.set(word, (owner.entries.get(word) ?? 0) + bytes);
  };
  const findOwner = (key: string): Owner => {
    const tenant = key.slice(0, key.lastIndexOf(':'));
    const found = owners.get(tenant);
    if (found !== undefined) return found;
    const owner: Owner = { tenant, shared: 0, added: 0, entries: new Map(), takenAt: now(), usedAt: now() };
    owners.set(tenant, owner);
    return owner;
  };
  return {
    reserve: (what, key, bytes) => {
      const owner = findOwner(key);
      const cost = bytes + ENTRY_BYTES;
      if (used + cost > limits.room || owner.shared + owner.added + cost > limits.part) {
        owner.usedAt = now();
        // The session is kept, and what of it can go beside its journal.
        if (what === 'journal') enter(owner, toWord(what, key), STREAKS_BYTES);
        wake();
        return 'refused';
      }
      enter(owner, toWord(what, key), cost);
      if (used > limits.room / 2) wake();
      return 'kept';
    },
    enter: ({ what, key, bytes }) => enter(findOwner(key), toWord(what, key), bytes),
    take: () => {
      for (const [tenant, { entries, usedAt }] of owners)
        if (entries.size === 0 && now() - usedAt > FORGET_AFTER_MS) owners.delete(tenant);
      usedBefore = used;
      const turn = [...owners.values()].slice(0, MAX_TENANTS_AT_ONCE);
      for (const owner of turn) {
        owners.delete(owner.tenant);
        owners.set(owner.tenant, owner);
      }
      return turn.flatMap((owner) => takeEntries(owner, limits.part, now()));
    },
    learn: (taken, bytes, next) => {
      limits = next;
      for (const [position, { tenant, bytes: entered }] of taken.entries()) {
        const owner = owners.get(tenant);
        if (owner === undefined) continue;
        owner.shared = bytes[position] ?? 0;
        owner.added -= entered;
      }
      used -= usedBefore;
    },
    putBack: (taken) => {
      for (const { tenant, words } of taken) {
        const owner = owners.get(tenant);
        for (const { what, key, bytes } of readWords(tenant, words)) {
          const word = toWord(what, key);
          owner?.entries.set(word, (owner.entries.get(word) ?? 0) + bytes);
        }
      }
    },
  };
};

const toWord = (what: Droppable, key: string): string => `${LETTER[what]}${key.slice(key.lastIndexOf(':') + 1)}`;

// One at least: it asks what the tenant has.
const takeEntries = (owner: Owner, part: number, now: number): readonly TenantEntries[] => {
  const { tenant } = owner;
  const all = [...owner.entries];
  const isLarge = toBytes(all) >= Math.min(CHUNK_BYTES, part / CHUNKS_OF_PART);
  const isDue = isLarge || all.length >= CHUNK_ENTRIES || now - owner.takenAt >= CHUNK_AGE_MS;
  if (all.length === 0 || !isDue) return [{ tenant, bytes: 0, words: '' }];
  owner.takenAt = now;
  owner.entries = new Map();
  const chunks: TenantEntries[] = [];
  for (let first = 0; first < all.length; first += MAX_CHUNK_ENTRIES) {
    const chunk = all.slice(first, first + MAX_CHUNK_ENTRIES);
    const words = chunk.map(([word, weight]) => `${word}:${weight}`).join(' ');
    chunks.push({ tenant, bytes: toBytes(chunk), words });
  }
  return chunks;
};

const toBytes = (entries: readonly (readonly [string, number])[]): number =>
  entries.reduce((sum, [, weight]) => sum + weight, 0);

/** The entries that words of a tenant's log say; what is none is left out. */
export const readWords = (tenant: string, words: string): readonly Entry[] =>
  words.split(' ').flatMap((word): readonly Entry[] => {
    const read = /^([jr])(.+):(\d{1,15})$/.exec(word);
    if (read === null) return [];
    const [, letter, name = '', bytes] = read;
    return [{ what: letter === 'j' ? 'journal' : 'result', key: `${tenant}:${name}`, bytes: Number(bytes) }];
  });
