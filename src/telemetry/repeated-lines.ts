import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';

// What goes on failing, or coming, is one line with a count and not one line each time.
const WINDOW_MS = 10_000;
const MAX_LINES = 1000;

/** Writes a line of each subject at most every `windowMs`; `write` gets how many were left out before it. `now` in milliseconds. */
export const createLineLimiter = (
  now: () => number,
  windowMs = WINDOW_MS,
): ((subject: string, write: (leftOut: number) => void) => void) => {
  const subjects = new LRUCache<string, { writtenAt: number; leftOut: number }>({ max: MAX_LINES });
  return (name, write) => {
    const last = subjects.get(name);
    if (last !== undefined && now() - last.writtenAt < windowMs) {
      last.leftOut += 1;
      return;
    }
    subjects.set(name, { writtenAt: now(), leftOut: 0 });
    write(last?.leftOut ?? 0);
  };
};

/** Writes one line at most every ten seconds; the next one says how many were left out in between. */
export const createQuietLine = <Fields extends Readonly<Record<string, unknown>>>({
  write,
  now,
}: {
  readonly write: (fields: Fields & { readonly equal_lines_left_out?: number }) => void;
  /** Milliseconds. */
  readonly now: () => number;
}): ((toFields: () => Fields) => void) => {
  const writeLimited = createLineLimiter(now);
  return (toFields) =>
    writeLimited('', (leftOut) => write({ ...toFields(), ...(leftOut > 0 ? { equal_lines_left_out: leftOut } : {}) }));
};

/** A request that was not let in. `tenant` and `key` are null where nobody was found behind it. */
export type RefusedRequest = {
  readonly reason: string;
  readonly tenant: string | null;
  readonly key: string | null;
  /** Of the connection. */
  readonly address: string;
};

/** Says who is refused and why: a line for each reason, tenant and key, ten seconds apart at least, with their number since. */
export const createRefusalLog = ({ log, now }: { readonly log: Logger; readonly now: () => number }) => {
  const writeLimited = createLineLimiter(now);
  return ({ reason, tenant, key, address }: RefusedRequest): void =>
    // Whoever is anonymous is told apart by the address; strangers are not, for they may have any number of them.
    writeLimited(`${reason} ${tenant} ${tenant === 'anonymous' ? address : key}`, (leftOut) =>
      log.warn({ reason, tenant, key, address, count: leftOut + 1 }, 'requests refused'),
    );
};

// An id of ours has no more.
const MAX_REQUEST_ID = 64;

/** Says, ten seconds apart at least, which X-Request-Id was not used, and which id its request has instead. */
export const createRequestIdLog = (log: Logger, now: () => number): ((received: string, requestId: string) => void) => {
  const writeQuiet = createQuietLine<{ readonly request_id: string; readonly given: string }>({
    write: (fields) => log.info(fields, 'X-Request-Id not used: it must have 16 to 64 of A-Z a-z 0-9 _ -'),
    now,
  });
  return (received, requestId) =>
    writeQuiet(() => ({ request_id: requestId, given: received.slice(0, MAX_REQUEST_ID) }));
};
