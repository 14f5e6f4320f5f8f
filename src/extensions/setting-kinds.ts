import * as z from 'zod';

const FLAGS = { true: true, false: false, 1: true, 0: false } as const;

const wholeText = (least: number, most: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, 'must be a whole number')
    .transform(Number)
    .refine((value) => value >= least && value <= most, `must be from ${least} to ${most}`);

/** A whole number within limits. */
export const whole = (standard: number, least: number, most = Number.MAX_SAFE_INTEGER) =>
  wholeText(least, most).default(standard);

/** A whole number within limits, where there need not be one. */
export const optionalWhole = (least: number, most: number) => wholeText(least, most).optional();

/** true, false, 1 or 0. */
export const flag = (standard: boolean) =>
  z
    .enum(['true', 'false', '1', '0'], 'must be true or false')
    .transform((word) => FLAGS[word])
    .default(standard);

/** One of a closed list of words. */
export const oneOf = <const Word extends string>(words: readonly Word[]) =>
  z.enum(words, `must be one of ${words.join(', ')}`);

const items = z.string().transform((text) => text.split(',').flatMap((item) => item.trim() || []));

/** Comma-separated items; blank ones are left out. */
export const list = items.default([]);

/** Comma-separated items that all follow a rule. */
export const listOf = (pattern: RegExp, rule: string, standard: readonly string[] = []) =>
  items.refine((all) => all.every((item) => pattern.test(item)), rule).default([...standard]);

/** Comma-separated words of a closed list. */
export const listOfWords = <const Word extends string>(words: readonly Word[], standard: readonly Word[] = []) =>
  items.pipe(z.array(z.enum(words, `must be a comma-separated list of ${words.join(', ')}`))).default([...standard]);

/** A longer setTimeout fires at once. */
export const MAX_TIMER_MS = 2_147_483_647;

/** A port, where there need not be one. */
export const optionalPort = optionalWhole(0, 65_535);

// Requests have the path and the query of their own, and credentials of their own.
const isBaseAddress = (text: string): boolean => /^https?:\/\/[^@?#]+$/.test(text) && URL.canParse(text);

/** The base address of an HTTP API, where there need not be one. */
export const baseAddress = z
  .string()
  .refine(isBaseAddress, 'must be an http:// or https:// address without user name, query or fragment')
  .optional();
