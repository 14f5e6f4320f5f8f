/** Bytes that one holder has taken for one purpose, until it gives them back. */
export type ByteHold = {
  /** Takes more; false, and nothing is taken, where there is no room. */
  readonly take: (bytes: number) => boolean;
  /** Holds exactly so many from now on, beyond the limit as well: for what is in memory already. */
  readonly set: (bytes: number) => void;
  /** Gives everything back; a second time changes nothing, and nothing is taken after it. */
  readonly release: () => void;
};

export type ByteBudget = {
  /** Takes bytes for a holder; null, and counted as refused, where there is no room. */
  readonly open: (holder: string, bytes: number) => ByteHold | null;
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
  const tryAdd = (holder: string, bytes: number): boolean => {
    if ((held.get(holder) ?? 0) + bytes > limitBytes - total - bytes) {
      onRefused?.();
      return false;
    }
    add(holder, bytes);
    return true;
  };
  return {
    inUse: () => total,
    open: (holder, bytes) => (tryAdd(holder, bytes) ? createHold(holder, bytes, { add, tryAdd }) : null),
  };
};

type Ledger = {
  readonly add: (holder: string, bytes: number) => void;
  readonly tryAdd: (holder: string, bytes: number) => boolean;
};

const createHold = (holder: string, first: number, { add, tryAdd }: Ledger): ByteHold => {
  let own = first;
  let open = true;
  return {
    take: (bytes) => {
      if (!open || !tryAdd(holder, bytes)) return false;
      own += bytes;
      return true;
    },
    set: (bytes) => {
      if (!open) return;
      add(holder, bytes - own);
      own = bytes;
    },
    release: () => {
      if (!open) return;
      open = false;
      add(holder, -own);
    },
  };
};
