import type { Client } from './batch.ts';

/** What may end a batch before its calls do. The first one counts. */
export type BatchEndCause = 'deadline' | 'client_gone' | 'shutdown';

/** Tells whoever runs a call of a batch that the batch is over. Moments are milliseconds of the executor's clock. */
export type BatchEnd = {
  /** null while the batch goes on at the given moment. */
  readonly causeAt: (moment: number) => BatchEndCause | null;
  /** Calls back once, at the end; gives the way to unsubscribe. */
  readonly onEnd: (listener: (cause: BatchEndCause) => void) => () => void;
  /** Milliseconds left until the deadline. */
  readonly remainingAt: (moment: number) => number;
};

export type BatchEndControl = BatchEnd & {
  readonly end: (cause: BatchEndCause) => void;
  /** The batch is answered: no timer and no listener is left behind. */
  readonly close: () => void;
};

/** Timer and subscription start with the first listener: a batch of synchronous handlers never needs them. */
export const createBatchEnd = (deadlineMs: number, client: Client, now: () => number): BatchEndControl => {
  const endsAt = now() + deadlineMs;
  let listeners: Set<(cause: BatchEndCause) => void> | undefined;
  let ended: BatchEndCause | null = null;
  let timer: NodeJS.Timeout | undefined;
  let unsubscribe = (): void => undefined;
  const end = (cause: BatchEndCause): void => {
    if (ended !== null) return;
    ended = cause;
    clearTimeout(timer);
    const told = listeners ?? [];
    listeners = undefined;
    for (const listener of told) listener(cause);
  };
  const listen = (): void => {
    timer = setTimeout(() => end('deadline'), Math.ceil(Math.max(0, endsAt - now())));
    unsubscribe = client.whenGone(() => end('client_gone'));
  };
  return {
    remainingAt: (moment) => Math.max(0, endsAt - moment),
    causeAt: (moment) => {
      if (ended === null && client.isGone()) end('client_gone');
      if (ended === null && moment >= endsAt) end('deadline');
      return ended;
    },
    onEnd: (listener) => {
      if (timer === undefined) listen();
      listeners ??= new Set();
      listeners.add(listener);
      return () => void listeners?.delete(listener);
    },
    end,
    close: () => {
      clearTimeout(timer);
      unsubscribe();
      listeners = undefined;
    },
  };
};
