import * as z from 'zod';

const FLAGS = { true: true, false: false, 1: true, 0: false } as const;

/** A whole number within limits. */
export const whole = (standard: number, least: number, most = Number.MAX_SAFE_INTEGER) =>
  z
    .string()
    .regex(/^\d{1,15}$/, 'must be a whole number')
    .transform(Number)
    .refine((value) => value >= least && value <= most, `must be from ${least} to ${most}`)
    .default(standard);

/** A whole number within limits, where there need not be one. */
export const optionalWhole = (least: number, most: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, 'must be a whole number')
    .transform(Number)
    .refine((value) => value >= least && value <= most, `must be from ${least} to ${most}`)
    .optional();

/** true, false, 1 or 0. */
export const flag = (standard: boolean) =>
  z
    .enum(['true', 'false', '1', '0'], 'must be true or false')
    .transform((word) => FLAGS[word])
    .default(standard);

/** One of a closed list of words. */
export const oneOf = <const Word extends string>(words: readonly Word[]) =>
  z.enum(words, `must be one of ${words.join(', ')}`);

/** Comma-separated items; blank ones are left out. */
export const list = z
  .string()
  .transform((text) => text.split(',').flatMap((item) => item.trim() || []))
  .default([]);

/** Comma-separated items that all follow a rule. */
export const listOf = (pattern: RegExp, rule: string, standard: readonly string[] = []) =>
  z
    .string()
    .transform((text) => text.split(',').flatMap((item) => item.trim() || []))
    .refine((items) => items.every((item) => pattern.test(item)), rule)
    .default([...standard]);

/** A longer setTimeout fires at once. */
export const MAX_TIMER_MS = 2_147_483_647;

/** A port, where there need not be one. */
export const optionalPort = z
  .string()
  .regex(/^\d{1,5}$/, 'must be a port number')
  .transform(Number)
  .refine((port) => port <= 65_535, 'must be from 0 to 65535')
  .optional();

// Requests have the path and the query of their own, and credentials of their own.
const isBaseAddress = (text: string): boolean => /^https?:\/\/[^@?#]+$/.test(text) && URL.canParse(text);

/** The base address of an HTTP API, where there need not be one. */
export const baseAddress = z
  .string()
  .refine(isBaseAddress, 'must be an http:// or https:// address without user name, query or fragment')
  .optional();
