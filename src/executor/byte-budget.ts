/** Bytes that one holder has taken for one purpose, until it gives them back. */
export type ByteHold = {
  /** Takes more; false, and nothing is taken, where there is no room. */
  readonly take: (bytes: number) => boolean;
  readonly give: (bytes: number) => void;
  /** Holds exactly so many from now on, beyond the limit as well: for what is in memory already. */
  readonly set: (bytes: number) => void;
  /** One more has to release it. */
  readonly retain: () => void;
  /** Gives everything back when as many have released it as retain it; after that it takes nothing, and refuses nothing. */
  readonly release: () => void;
};

export type ByteBudget = {
  /** Takes bytes for a holder where there is room for `room` bytes; null, and counted as refused, where there is not. */
  readonly open: (holder: string, bytes: number, room?: number) => ByteHold | null;
  /** Bytes taken now, over all holders. */
  readonly inUse: () => number;
};

export type ByteBudgetOptions = {
  readonly limitBytes: number;
  /** Hears of every request for bytes that finds no room. */
  readonly onRefused?: () => void;
};

/**
 * Bytes that several holders share. A holder may have at most as many as are left free beside it: one alone half of
 * them, two a third each, and n leave one part in n + 1 to whoever comes next (Choudhury and Hahne, "Dynamic queue
 * length thresholds", 1998, with α = 1). So nobody needs a share that is set, and nobody can take everything.
 */
export const createByteBudget = ({ limitBytes, onRefused }: ByteBudgetOptions): ByteBudget => {
  const held = new Map<string, number>();
  let total = 0;
  const add = (holder: string, bytes: number): void => {
    const now = (held.get(holder) ?? 0) + bytes;
    total += bytes;
    // Holders are callers: the map must not remember all that ever came.
    if (now === 0) held.delete(holder);
    else held.set(holder, now);
  };
  const tryAdd = (holder: string, bytes: number, room = bytes): boolean => {
    if ((held.get(holder) ?? 0) + room > limitBytes - total - room) {
      onRefused?.();
      return false;
    }
    add(holder, bytes);
    return true;
  };
  const ledger: Ledger = { add, tryAdd };
  return {
    inUse: () => total,
    open: (holder, bytes, room) => (tryAdd(holder, bytes, room) ? new Hold(holder, bytes, ledger) : null),
  };
};

type Ledger = {
  readonly add: (holder: string, bytes: number) => void;
  readonly tryAdd: (holder: string, bytes: number) => boolean;
};

class Hold implements ByteHold {
  readonly #holder: string;
  readonly #ledger: Ledger;
  #own: number;
  #users = 1;

  constructor(holder: string, own: number, ledger: Ledger) {
    this.#holder = holder;
    this.#own = own;
    this.#ledger = ledger;
  }

  take(bytes: number): boolean {
    if (this.#users === 0) return true;
    if (!this.#ledger.tryAdd(this.#holder, bytes)) return false;
    this.#own += bytes;
    return true;
  }

  give(bytes: number): void {
    this.set(this.#own - bytes);
  }

  set(bytes: number): void {
    if (this.#users === 0) return;
    this.#ledger.add(this.#holder, bytes - this.#own);
    this.#own = bytes;
  }

  retain(): void {
    if (this.#users > 0) this.#users += 1;
  }

  release(): void {
    if (this.#users === 1) this.set(0);
    this.#users = Math.max(0, this.#users - 1);
  }
}
