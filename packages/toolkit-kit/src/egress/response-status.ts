/** Whether an HTTP status says that the request was done: 200 to 299. */
export const isSuccess = (status: number): boolean => status >= 200 && status < 300;

// Beyond a day a server's word is no plan any more.
const MAX_RETRY_AFTER_MS = 86_400_000;
const DELAY_SECONDS = /^\d{1,10}$/;
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * The wait a `Retry-After` header asks for, in milliseconds, at most a day; undefined where there is none or it is
 * neither form of RFC 9110, section 10.2.3 (whole seconds, or a date in the preferred format).
 */
export const parseRetryAfter = (header: string | undefined, nowMs: number): number | undefined => {
  const text = header?.trim() ?? '';
  if (DELAY_SECONDS.test(text)) return Math.min(Number(text) * 1_000, MAX_RETRY_AFTER_MS);
  // Only the exact format: Date.parse reads a date into almost anything, into "12.5" too.
  const dateMs = HTTP_DATE.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(dateMs) ? undefined : Math.min(Math.max(0, dateMs - nowMs), MAX_RETRY_AFTER_MS);
};

/** A time as a message says it: whole seconds, at least one. */
export const toSeconds = (ms: number): string => {
  const seconds = Math.max(1, Math.ceil(ms / 1_000));
  return seconds === 1 ? '1 second' : `${seconds} seconds`;
};
