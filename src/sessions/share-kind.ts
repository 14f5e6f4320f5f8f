import type { Kind } from '../store/record-store.ts';
import { NO_LIST, toChanges, toOwnFields } from './record-fields.ts';

/** Bytes in a store, and when what they are taken for is gone by itself, in Unix milliseconds. */
export type Weight = { readonly bytes: number; readonly endsAt: number };

/** Bytes by the hour, since 1970, at whose end they are gone. */
export type BytesByHour = Map<number, number>;

const HOUR_MS = 3_600_000;
// Longer than anything that is weighed stays: of a clock that is wrong it may be any hour.
const LONGEST_HOURS = 50;
const FIELD = 'e:';
const HOUR = /^e:(\d{1,9})$/;

const toHour = (time: number): number => Math.ceil(time / HOUR_MS);

export const addWeight = (bytes: BytesByHour, { bytes: more, endsAt }: Weight): void => {
  const hour = toHour(endsAt);
  bytes.set(hour, (bytes.get(hour) ?? 0) + more);
};

/**
 * What a tenant keeps in the store. It is counted by the hour in which it ends: what a process that was killed could not give
 * back is counted until then, and no longer.
 */
export const shareKind: Kind<BytesByHour, Map<string, string>> = {
  ...NO_LIST,
  name: 'share',
  operations: { short: 'space', long: 'space' },
  // Where the records are in memory the stores themselves have a part for each tenant.
  memory: { records: null, lists: null },
  knownPart: 0.03,
  ttlMs: (share, now) => Math.max(...share.keys()) * HOUR_MS - now,
  create: () => new Map(),
  decode: (fields) => {
    const share: BytesByHour = new Map();
    for (const [name, text] of fields) {
      const [, hour] = HOUR.exec(name) ?? [];
      if (hour !== undefined && /^-?\d{1,15}$/.test(text)) share.set(Number(hour), Number(text));
    }
    return share;
  },
  toSaved: (_share, fields) => toOwnFields(fields, (name) => name.startsWith(FIELD)),
  changes: (share, saved) =>
    toChanges(new Map([...share].map(([hour, bytes]) => [`${FIELD}${hour}`, String(bytes)])), saved),
  isEmpty: ({ size }) => size === 0,
  bytes: ({ size }) => 200 + 100 * size,
};

/** Adds to a share, where what has ended is left out. */
export const addToShare = (share: BytesByHour, added: Iterable<readonly [number, number]>, now: number): void => {
  const last = toHour(now) + LONGEST_HOURS;
  for (const [hour, bytes] of added) {
    const within = Math.min(hour, last);
    share.set(within, (share.get(within) ?? 0) + bytes);
  }
  for (const [hour, bytes] of share) if (bytes === 0 || hour * HOUR_MS <= now) share.delete(hour);
};

/** All of a share, in bytes. What was given back may have ended with an hour before that of what it was taken for. */
export const sumOfShare = (share: BytesByHour): number => {
  let sum = 0;
  for (const bytes of share.values()) sum += bytes;
  return Math.max(0, sum);
};
