/** Bytes that one holder has taken for one purpose, until it gives them back. */
export type MemoryLease = {
  /** Takes more; false, and nothing is taken, where there is no room. */
  readonly take: (bytes: number) => boolean;
  /** Takes more, beyond the limit as well: for what is in memory already. */
  readonly add: (bytes: number) => void;
  readonly give: (bytes: number) => void;
  /** Holds exactly so many from now on, beyond the limit as well: for what is in memory already. */
  readonly set: (bytes: number) => void;
  /** Holds exactly so many from now on; false, and nothing changes, where that is more than before and there is no room. */
  readonly fit: (bytes: number) => boolean;
  /** A hold of the same holder with so many bytes, beyond the limit as well: for what outlives this one. */
  readonly beside: (bytes: number) => MemoryLease;
  /** One more has to release it. */
  readonly retain: () => void;
  /** Gives everything back when as many have released it as retain it; after that it takes nothing, and refuses nothing. */
  readonly release: () => void;
};

export type ByteBudget = {
  /** Takes bytes for a holder where there is room for `room` bytes; null, and counted as refused, where there is not. */
  readonly open: (holder: string, bytes: number, room?: number) => MemoryLease | null;
  /** Takes bytes for a holder beyond the limit as well, now and later: for what must be in memory. */
  readonly openBeyond: (holder: string, bytes: number) => MemoryLease;
  /** Whether there is room for so many; counted as refused where there is not. */
  readonly hasRoom: (holder: string, bytes: number) => boolean;
  /** How many bytes a holder may have now, where it has at least as many as all others together; null: it has fewer. */
  readonly partOf: (holder: string) => number | null;
  readonly limitBytes: number;
  /** Bytes taken now, over all holders. */
  readonly inUse: () => number;
};

export type ByteBudgetOptions = {
  readonly limitBytes: number;
  /** Called for every request for bytes that finds no room. */
  readonly onRefused?: () => void;
};

/**
 * Bytes that several holders share. A holder may have at most as many as are left free beside it: one alone half of
 * them, two a third each, and n leave one part in n + 1 to whoever comes next (Choudhury and Hahne, "Dynamic queue
 * length thresholds", 1998, with α = 1). So nobody needs a share that is set, and nobody can take everything.
 */
export const createByteBudget = ({ limitBytes, onRefused }: ByteBudgetOptions): ByteBudget => {
  const holders = new Map<string, Holder>();
  const total = { bytes: 0 };
  let pruneAt = LEAST_REMEMBERED;
  const addHolder = (name: string): Holder => {
    if (holders.size >= pruneAt) {
      for (const [known, { holds }] of holders) if (holds === 0) holders.delete(known);
      pruneAt = Math.max(LEAST_REMEMBERED, 2 * holders.size);
    }
    const holder = { bytes: 0, holds: 0 };
    holders.set(name, holder);
    return holder;
  };
  const hasRoom = (holder: Holder, room: number): boolean => {
    if (holder.bytes + room <= limitBytes - total.bytes - room) return true;
    onRefused?.();
    return false;
  };
  const ledger: Ledger = { total, hasRoom };
  const beyond: Ledger = { total, hasRoom: () => true };
  const find = (name: string): Holder => holders.get(name) ?? addHolder(name);
  return {
    limitBytes,
    inUse: () => total.bytes,
    hasRoom: (name, bytes) => hasRoom(find(name), bytes),
    partOf: (name) => {
      const ofOthers = total.bytes - find(name).bytes;
      return ofOthers > find(name).bytes ? null : Math.floor((limitBytes - ofOthers) / 2);
    },
    openBeyond: (name, bytes) => new Hold(find(name), beyond, bytes),
    open: (name, bytes, room = bytes) => {
      const holder = find(name);
      return hasRoom(holder, room) ? new Hold(holder, ledger, bytes) : null;
    },
  };
};

/** What one holder has, in how many holds. */
type Holder = { bytes: number; holds: number };

// Holders are callers: those that hold nothing are forgotten once there are so many, or as many again as hold something.
const LEAST_REMEMBERED = 1024;

type Ledger = {
  readonly total: { bytes: number };
  readonly hasRoom: (holder: Holder, room: number) => boolean;
};

class Hold implements MemoryLease {
  readonly #holder: Holder;
  readonly #ledger: Ledger;
  #own = 0;
  #users = 1;

  constructor(holder: Holder, ledger: Ledger, bytes: number) {
    this.#holder = holder;
    this.#ledger = ledger;
    holder.holds += 1;
    this.set(bytes);
  }

  take(bytes: number): boolean {
    if (this.#users === 0) return true;
    if (!this.#ledger.hasRoom(this.#holder, bytes)) return false;
    this.add(bytes);
    return true;
  }

  fit(bytes: number): boolean {
    if (bytes > this.#own) return this.take(bytes - this.#own);
    this.set(bytes);
    return true;
  }

  add(bytes: number): void {
    this.set(this.#own + bytes);
  }

  give(bytes: number): void {
    this.set(this.#own - bytes);
  }

  beside(bytes: number): MemoryLease {
    return new Hold(this.#holder, this.#ledger, bytes);
  }

  set(bytes: number): void {
    if (this.#users === 0) return;
    const { total } = this.#ledger;
    this.#holder.bytes += bytes - this.#own;
    total.bytes += bytes - this.#own;
    this.#own = bytes;
  }

  retain(): void {
    if (this.#users > 0) this.#users += 1;
  }

  release(): void {
    if (this.#users === 1) {
      this.set(0);
      this.#holder.holds -= 1;
    }
    this.#users = Math.max(0, this.#users - 1);
  }
}
