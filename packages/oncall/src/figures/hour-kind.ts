import type { RecordStore } from 'recourse-server/store/record-store';
import { createTextKind } from 'recourse-server/store/text-kind';

// Longer than an hour: its first minute is whole as long as it counts.
export const HOUR_TTL_MS = 65 * 60_000;

/**
 * What one process has counted of a tenant in the last hour, by the names of fields: `h`: the number of the write, `n`: names with spaces
 * between, `f`: runs of failures, `m:MINUTE`: a minute as text.
 */
export const hourKind = createTextKind<Map<string, string>>({
  name: 'figures',
  operation: 'oncall',
  own: /^(?:[hnf]|m:\d{1,9})$/,
  // Where the records are in memory nothing is written.
  memory: { records: null, lists: null },
  ttlMs: HOUR_TTL_MS,
  create: () => new Map(),
  decode: (fields) => new Map(fields),
  toTexts: (state) => state,
  isEmpty: ({ size }) => size === 0,
  bytes: (state) => [...state.values()].reduce((sum, { length }) => sum + 100 + length, 200),
});

const MOST_WRITERS = 64;
const WRITER = /^[0-9a-f]{16}$/;

/** The processes that have counted calls of a tenant, each by its name in the names of its records: when it said so last. */
export const writersKind = createTextKind<Map<string, number>>({
  name: 'figures-of',
  operation: 'oncall',
  own: /^r:/,
  memory: { records: null, lists: null },
  ttlMs: HOUR_TTL_MS,
  create: () => new Map(),
  decode: (fields) => {
    const writers = new Map<string, number>();
    for (const [name, text] of fields)
      if (name.startsWith('r:') && WRITER.test(name.slice(2)) && /^\d{1,15}$/.test(text))
        writers.set(name.slice(2), Number(text));
    return writers;
  },
  toTexts: (writers) => new Map([...writers].map(([writer, at]) => [`r:${writer}`, String(at)])),
  isEmpty: ({ size }) => size === 0,
  bytes: ({ size }) => 200 + 150 * size,
});

/** Enters a writer, and forgets those whose records have ended, and the oldest beyond 64. */
export const enterWriter = (writers: Map<string, number>, writer: string, now: number): void => {
  writers.delete(writer);
  const others = [...writers].filter(([, at]) => now - at < HOUR_TTL_MS).toSorted(([, one], [, other]) => other - one);
  writers.clear();
  for (const [name, at] of others.slice(0, MOST_WRITERS - 1)) writers.set(name, Math.min(at, Math.floor(now)));
  writers.set(writer, Math.floor(now));
};

export type HourRecords = ReturnType<typeof openHourRecords>;

export const openHourRecords = (records: RecordStore) => ({
  hours: records.open(hourKind),
  writers: records.open(writersKind),
});

/** Where the hour of a tenant is stored that one process has counted. */
export const hourKeyOf = (tenant: string, id: string): string => `${tenant}:${id}`;
/** Where the processes are listed that have counted calls of a tenant. */
export const writersKeyOf = (tenant: string): string => `${tenant}:figures`;
