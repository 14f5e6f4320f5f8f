/** What may end a batch before its calls do. The first one counts. */
export type BatchEndCause = 'deadline' | 'client_gone' | 'shutdown';

/** Tells whoever runs a call of a batch that the batch is over. */
export type BatchEnd = {
  /** null while the batch goes on. */
  readonly cause: () => BatchEndCause | null;
  /** Calls back once, at the end; gives the way to unsubscribe. */
  readonly onEnd: (listener: (cause: BatchEndCause) => void) => () => void;
  /** Milliseconds left until the deadline, by the clock of the executor. */
  readonly remainingMs: () => number;
};

export type BatchEndControl = BatchEnd & {
  readonly end: (cause: BatchEndCause) => void;
  /** The batch is answered: no timer and no listener is left behind. */
  readonly close: () => void;
};

/** The timer starts with the first listener: a batch that only runs synchronous handlers never needs one. */
export const createBatchEnd = (deadlineMs: number, now: () => number): BatchEndControl => {
  const endsAt = now() + deadlineMs;
  const listeners = new Set<(cause: BatchEndCause) => void>();
  let ended: BatchEndCause | null = null;
  let timer: NodeJS.Timeout | undefined;
  const end = (cause: BatchEndCause): void => {
    if (ended !== null) return;
    ended = cause;
    clearTimeout(timer);
    for (const listener of listeners) listener(cause);
    listeners.clear();
  };
  const remainingMs = (): number => Math.max(0, endsAt - now());
  return {
    remainingMs,
    cause: () => {
      if (ended === null && now() >= endsAt) end('deadline');
      return ended;
    },
    onEnd: (listener) => {
      timer ??= setTimeout(() => end('deadline'), Math.ceil(remainingMs()));
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    end,
    close: () => {
      clearTimeout(timer);
      listeners.clear();
    },
  };
};
