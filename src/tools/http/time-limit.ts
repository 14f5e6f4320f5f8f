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
