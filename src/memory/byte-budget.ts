/** What one holder has, in how many leases. */
type Holder = { bytes: number; leases: number };

/** Bytes that one holder has taken for one purpose, until it gives them back. Once it is released it takes nothing, and refuses nothing. */
class Lease {
  readonly #holder: Holder;
  /** Of all holders. */
  readonly #total: { bytes: number };
  readonly #hasRoom: (holder: Holder, bytes: number) => boolean;
  #own = 0;
  #users = 1;

  constructor(holder: Holder, total: { bytes: number }, hasRoom: (holder: Holder, bytes: number) => boolean) {
    this.#holder = holder;
    this.#total = total;
    this.#hasRoom = hasRoom;
    holder.leases += 1;
  }

  /** Takes more; false, and nothing is taken, where there is no room. */
  take(bytes: number): boolean {
    if (this.#users === 0) return true;
    if (!this.#hasRoom(this.#holder, bytes)) return false;
    this.add(bytes);
    return true;
  }

  /** Has exactly so many from now on; false, and nothing changes, where that is more than before and there is no room. */
  fit(bytes: number): boolean {
    if (bytes > this.#own) return this.take(bytes - this.#own);
    this.set(bytes);
    return true;
  }

  /** Takes more, beyond the limit as well: for what is in memory already. */
  add(bytes: number): void {
    this.set(this.#own + bytes);
  }

  give(bytes: number): void {
    this.set(this.#own - bytes);
  }

  /** A lease of the same holder with so many bytes, beyond the limit as well: for what outlives this one. */
  beside(bytes: number): MemoryLease {
    const lease = new Lease(this.#holder, this.#total, this.#hasRoom);
    lease.set(bytes);
    return lease;
  }

  /** Has exactly so many from now on, beyond the limit as well: for what is in memory already. */
  set(bytes: number): void {
    if (this.#users === 0) return;
    this.#holder.bytes += bytes - this.#own;
    this.#total.bytes += bytes - this.#own;
    this.#own = bytes;
  }

  /** One more has to release it. */
  retain(): void {
    if (this.#users > 0) this.#users += 1;
  }

  /** Gives everything back when as many have released it as retain it. */
  release(): void {
    if (this.#users === 1) {
      this.set(0);
      this.#holder.leases -= 1;
    }
    this.#users = Math.max(0, this.#users - 1);
  }
}

export type MemoryLease = Pick<Lease, keyof Lease>;
export type ByteBudget = ReturnType<typeof createByteBudget>;

// Holders are callers: those that hold nothing are forgotten once there are so many, or as many again as hold something.
const LEAST_REMEMBERED = 1024;

const always = (): boolean => true;

/**
 * Bytes that several holders share. A holder may have at most as many as are left free beside it: one alone half of
 * them, two a third each, and n leave one part in n + 1 to the next (Choudhury and Hahne, "Dynamic queue
 * length thresholds", 1998, with α = 1). So no share has to be set, and no holder can take everything. `onRefused` is called
 * for every request for bytes that finds no room.
 */
export const createByteBudget = ({
  limitBytes,
  onRefused,
}: {
  readonly limitBytes: number;
  readonly onRefused?: () => void;
}) => {
  const holders = new Map<string, Holder>();
  const total = { bytes: 0 };
  let pruneAt = LEAST_REMEMBERED;
  const addHolder = (name: string): Holder => {
    if (holders.size >= pruneAt) {
      for (const [known, { leases }] of holders) if (leases === 0) holders.delete(known);
      pruneAt = Math.max(LEAST_REMEMBERED, 2 * holders.size);
    }
    const holder = { bytes: 0, leases: 0 };
    holders.set(name, holder);
    return holder;
  };
  const find = (name: string): Holder => holders.get(name) ?? addHolder(name);
  const hasRoom = (holder: Holder, room: number): boolean => {
    if (holder.bytes + room <= limitBytes - total.bytes - room) return true;
    onRefused?.();
    return false;
  };
  const open = (holder: Holder, bytes: number, limit: typeof hasRoom): MemoryLease => {
    const lease = new Lease(holder, total, limit);
    lease.set(bytes);
    return lease;
  };
  return {
    limitBytes,
    /** Bytes taken now, over all holders. */
    inUse: () => total.bytes,
    /** Whether there is room for so many; counted as refused where there is not. */
    hasRoom: (name: string, bytes: number) => hasRoom(find(name), bytes),
    /** How many bytes a holder may have now, where it has at least as many as all others together; null: it has fewer. */
    partOf: (name: string): number | null => {
      const ofOthers = total.bytes - find(name).bytes;
      return ofOthers > find(name).bytes ? null : Math.floor((limitBytes - ofOthers) / 2);
    },
    /** Takes bytes for a holder beyond the limit as well, now and later: for what must be in memory. */
    openBeyond: (name: string, bytes: number) => open(find(name), bytes, always),
    /** Takes bytes for a holder where there is room for `room` bytes; null, and counted as refused, where there is not. */
    open: (name: string, bytes: number, room = bytes): MemoryLease | null => {
      const holder = find(name);
      return hasRoom(holder, room) ? open(holder, bytes, hasRoom) : null;
    },
  };
};
