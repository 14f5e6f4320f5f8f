import type { ErrorObject } from 'ajv';
import { isRecord } from '../contract/json-record.ts';
import { readPointer, valueAt } from './argument-issues.ts';

declare global {
  interface JSON {
    /** ECMAScript 2026, JSON.parse source text access: what `JSON.stringify` writes as this text. */
    rawJSON(text: string): unknown;
    isRawJSON(value: unknown): boolean;
  }
}

// Within what a number of JavaScript reaches at all: a validator takes no infinity for an integer.
const DIGITS = /^-?[1-9]\d{15,307}$/;

/** Whether a text is a whole number beyond ±2^53−1, in its digits alone: a JSON number cannot carry it to everyone. */
export const isWideInteger = (value: unknown): value is string =>
  typeof value === 'string' && DIGITS.test(value) && !Number.isSafeInteger(Number(value));

/** What a whole number beyond ±2^53−1 is for the one that sends it, by its digits. */
export type ToWideInteger = (digits: string) => unknown;

const NUMBERS: ReadonlySet<unknown> = new Set(['integer', 'number']);

// Places of a kind: more rounds are needed only for what is wrong in ever new ways.
const MOST_ROUNDS = 16;

/**
 * Replaces each text of a wide whole number, where the schema asks for a number, by what `toWide` makes of it. Answers the new
 * value, or the errors that remain. `judge` returns the errors of a value. `items`: `each` where `judge` names every wrong item
 * of a list; `one` where it names only the first: then the same place in all other items is replaced as well.
 */
export const withWideIntegers = (
  value: unknown,
  judge: (value: unknown) => readonly ErrorObject[],
  items: 'each' | 'one',
  toWide: ToWideInteger,
): { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly errors: readonly ErrorObject[] } => {
  const asGiven = judge(value);
  let errors = asGiven;
  // As numbers of JavaScript, for the check; and as they are sent.
  let narrow = value;
  let wide = value;
  for (let round = 0; round < MOST_ROUNDS && errors.length > 0; round += 1) {
    const paths = findPlaces(errors, narrow, items);
    if (paths.length === 0) break;
    for (const path of paths) {
      narrow = replaceAt(narrow, path, Number);
      wide = replaceAt(wide, path, toWide);
    }
    errors = judge(narrow);
  }
  if (errors.length === 0) return { ok: true, value: wide };
  // Of alternatives another one wanted the text: what is wrong with the value as it was given says more.
  const isMistaken = errors.some(
    ({ keyword, instancePath }) =>
      keyword === 'type' && Number.isInteger(valueAt(narrow, readPointer(instancePath, narrow))),
  );
  return { ok: false, errors: isMistaken ? asGiven : errors };
};

/** Where texts of digits stand for numbers; `*` is any item of a list. */
const findPlaces = (
  errors: readonly ErrorObject[],
  value: unknown,
  items: 'each' | 'one',
): readonly (readonly string[])[] => {
  const found = new Map<string, readonly string[]>();
  for (const { keyword, params, instancePath } of errors) {
    if (keyword !== 'type' || ![params['type']].flat().some((type) => NUMBERS.has(type))) continue;
    const path = readPointer(instancePath, value);
    if (!isWideInteger(valueAt(value, path))) continue;
    found.set(
      instancePath,
      path.map((step) => (typeof step === 'number' && items === 'one' ? '*' : String(step))),
    );
  }
  return [...found.values()];
};

const replaceAt = (value: unknown, [step, ...rest]: readonly string[], to: ToWideInteger): unknown => {
  if (step === undefined) return isWideInteger(value) ? to(value) : value;
  if (Array.isArray(value))
    return value.map((item, place) => (step === '*' || step === String(place) ? replaceAt(item, rest, to) : item));
  if (!isRecord(value) || !Object.hasOwn(value, step)) return value;
  return { ...value, [step]: replaceAt(value[step], rest, to) };
};
