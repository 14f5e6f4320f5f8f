import { createTextKind } from '../store/text-kind.ts';

/** Bytes in a store, and when what they are reserved for is gone by itself, in Unix milliseconds. */
export type Weight = { readonly bytes: number; readonly endsAt: number };

/** Bytes by the hour, since 1970, at whose end they are gone. */
export type BytesByHour = Map<number, number>;

const HOUR_MS = 3_600_000;
// Longer than anything that is weighed stays: of a clock that is wrong it may be any hour.
const LONGEST_HOURS = 50;
const HOUR = /^e:(\d{1,9})$/;

/** The hour with whose end a weight has gone. */
export const hourOf = ({ endsAt }: Pick<Weight, 'endsAt'>): number => Math.ceil(endsAt / HOUR_MS);

export const addBytes = (share: BytesByHour, hour: number, bytes: number): void =>
  void share.set(hour, (share.get(hour) ?? 0) + bytes);

/**
 * What a tenant has in the store. It is counted by the hour in which it ends: what a process that was killed could not give
 * back is counted until then, and no longer.
 */
export const shareKind = createTextKind<BytesByHour>({
  name: 'share',
  operation: 'space',
  own: /^e:/,
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
  toTexts: (share) => new Map([...share].map(([hour, bytes]) => [`e:${hour}`, String(bytes)])),
  isEmpty: ({ size }) => size === 0,
  bytes: ({ size }) => 200 + 100 * size,
});

/** Adds to a share, and leaves out what has ended. */
export const addToShare = (share: BytesByHour, added: Iterable<readonly [number, number]>, now: number): void => {
  const last = Math.ceil(now / HOUR_MS) + LONGEST_HOURS;
  for (const [hour, bytes] of added) addBytes(share, Math.min(hour, last), bytes);
  for (const [hour, bytes] of share) if (bytes === 0 || hour * HOUR_MS <= now) share.delete(hour);
};

/** All of a share, in bytes. What was given back may have ended with an hour before that of what it was reserved for. */
export const sumOfShare = (share: BytesByHour): number => {
  let sum = 0;
  for (const bytes of share.values()) sum += bytes;
  return Math.max(0, sum);
};
