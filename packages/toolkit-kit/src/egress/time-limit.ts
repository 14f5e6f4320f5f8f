/**
 * Runs `work` with a signal that aborts when `outer` does or after `ms` milliseconds, and leaves neither timer nor
 * listener behind. Not AbortSignal.any with AbortSignal.timeout: those timers outlive the call.
 */
export const withTimeLimit = async <T>(
  outer: AbortSignal,
  ms: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  const limit = new AbortController();
  const onOuterAbort = (): void => limit.abort(outer.reason);
  if (outer.aborted) onOuterAbort();
  outer.addEventListener('abort', onOuterAbort, { once: true });
  const timer = setTimeout(() => limit.abort(new DOMException('The time limit passed.', 'TimeoutError')), ms);
  try {
    return await work(limit.signal);
  } finally {
    clearTimeout(timer);
    outer.removeEventListener('abort', onOuterAbort);
  }
};

/** What `work` gives, or at once the reason of a signal that aborts before. The work itself goes on. */
export const untilAborted = async <T>(work: Promise<T>, signal: AbortSignal): Promise<T> => {
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
};
