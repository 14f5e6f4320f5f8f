import { DATE_RULE } from '@recourse/toolkit-kit/page-answers';
import * as z from 'zod';

const DAY_MS = 86_400_000;
// Further away, neither Google nor the rules of time zones say anything that is worth a request.
const YEARS_RULE = 'must be a day of the years 1900 to 2199';

/** A day as an argument, `2026-12-24`. */
export const Day = z.iso
  .date({ error: DATE_RULE, abort: true })
  .refine((day) => /^(?:19|20|21)/.test(day), YEARS_RULE)
  .meta({ examples: ['2026-12-24'] });

const ZONE_RULE = 'must be the name of a time zone, such as Europe/Berlin';

/** The name of a time zone as an argument. */
export const TimeZone = z
  .string()
  .max(64)
  .regex(/^[A-Za-z][\w+/-]*$/, { error: ZONE_RULE, abort: true })
  .refine((name) => toTimeZone(name) !== null, ZONE_RULE)
  .meta({ examples: ['Europe/Berlin'] });

/** The zone as the system spells it; null where it knows none of this name (IANA time zone database). */
export const toTimeZone = (name: string): string | null => {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
  } catch (thrown) {
    if (thrown instanceof RangeError) return null;
    throw thrown;
  }
};

/** The day `days` after (or before) this one. */
export const addDays = (day: string, days: number): string => toDay(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS);

/** Which day it is in a time zone, at a time in milliseconds since the epoch. */
export const dayAt = (timeMs: number, timeZone: string): string => toDay(timeMs + offsetMs(timeMs, timeZone));

/**
 * When a day begins in a time zone, in milliseconds since the epoch: its first moment, also where the clock leaves
 * midnight out or has it twice.
 */
export const startOfDay = (day: string, timeZone: string): number => {
  const midnight = Date.parse(`${day}T00:00:00Z`);
  const offsets = [midnight - DAY_MS, midnight + DAY_MS].map((timeMs) => offsetMs(timeMs, timeZone));
  const moments = offsets.map((offset) => midnight - offset).sort((one, other) => one - other);
  // Where a zone leaves out a whole day, as Samoa did, none fits.
  return moments.find((timeMs) => dayAt(timeMs, timeZone) === day) ?? moments.at(-1) ?? midnight;
};

const toDay = (timeMs: number): string => new Date(timeMs).toISOString().slice(0, 10);

const offsetMs = (timeMs: number, timeZone: string): number => {
  const parts = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' }).formatToParts(timeMs);
  const name = parts.find(({ type }) => type === 'timeZoneName')?.value ?? '';
  const [, sign, hours = 0, minutes = 0, seconds = 0] = /([+-])(\d\d):(\d\d)(?::(\d\d))?/.exec(name) ?? [];
  const ahead = ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000;
  return sign === '-' ? -ahead : ahead;
};
