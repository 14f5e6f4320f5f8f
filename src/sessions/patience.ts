/** How long what must be durable waits for an answer: a caller who has a deadline of seconds need not send it again. */
export const PATIENT_MS = 1000;

/** Waits for answers of commands, for each so many milliseconds from the moment at which it is written. */
type Patience = {
  /** The answer, or a rejection where none has come in time. */
  readonly wait: <Answer>(answer: Promise<Answer>) => Promise<Answer>;
  /** What is waited for has been written just now. */
  readonly begin: (now: number) => void;
};

/** No answer has come in time; what was asked may have been done. */
export class LateAnswerError extends Error {}

type Waiting = { since: number; readonly giveUp: (error: Error) => void };

/**
 * One timer for all answers that are waited for: that of the oldest. Where a burst of requests kept the event loop busy, the
 * timer fires before the answers that are there are read. They are read before an immediate, which gives up the others.
 */
export const createPatience = (ms: number): Patience => {
  // Oldest first, for each is waited for as long as any other.
  const waiting = new Set<Waiting>();
  let unwritten: Waiting[] = [];
  let timer: NodeJS.Timeout | undefined;
  const watchOldest = (now: number): void => {
    const [oldest] = waiting;
    if (oldest === undefined || oldest.since === UNWRITTEN) return;
    timer = setTimeout(timeOut, Math.max(1, Math.ceil(oldest.since + ms - now)));
    // The connection keeps the process alive, not the wait for an answer.
    timer.unref();
  };
  const timeOut = (): void => {
    // Of now: what comes to its end while answers are read has its own turn.
    const endedAt = performance.now();
    setImmediate(() => giveUpUntil(endedAt));
  };
  const giveUpUntil = (endedAt: number): void => {
    timer = undefined;
    for (const one of waiting) {
      if (one.since + ms > endedAt) break;
      waiting.delete(one);
      one.giveUp(new LateAnswerError('Command timed out'));
    }
    watchOldest(performance.now());
  };
  return {
    wait: (answer) =>
      new Promise((resolve, reject) => {
        const one: Waiting = { since: UNWRITTEN, giveUp: reject };
        waiting.add(one);
        unwritten.push(one);
        answer.then(
          (value) => {
            waiting.delete(one);
            resolve(value);
          },
          (error: unknown) => {
            waiting.delete(one);
            reject(error);
          },
        );
      }),
    begin: (now) => {
      if (unwritten.length === 0) return;
      for (const one of unwritten) one.since = now;
      unwritten = [];
      if (timer === undefined) watchOldest(now);
    },
  };
};

const UNWRITTEN = Number.POSITIVE_INFINITY;
