import type { ErrorObject } from 'ajv';
import { isRecord } from '../contract/json-record.ts';
import { toPointerPath } from './argument-issues.ts';

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

/** Where texts of digits stand for numbers; `*` is any item of a list. */
type Places = readonly (readonly string[])[];

/** What a whole number beyond ±2^53−1 is for whoever sends it, by its digits. */
export type ToWideInteger = (digits: string) => unknown;

const NUMBERS: ReadonlySet<unknown> = new Set(['integer', 'number']);

// Places of a kind: more rounds are needed only for what is wrong in ever new ways.
const MOST_ROUNDS = 16;

type Judged =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly errors: readonly ErrorObject[] };

/**
 * Replaces each text of a wide whole number, where the schema asks for a number, by what `toWide` makes of it. Answers the new
 * value, or the errors that remain. `judge` returns the errors of a value. `items`: `each` where `judge` names every wrong item
 * of a list; `one` where it names only the first: then the same place in all other items is replaced as well.
 */
export const withWideIntegers = (
  value: unknown,
  judge: (value: unknown) => readonly ErrorObject[],
  { items, toWide }: { readonly items: 'each' | 'one'; readonly toWide: ToWideInteger },
): Judged => {
  const asGiven = judge(value);
  const places: (readonly string[])[] = [];
  let errors = asGiven;
  let narrow = value;
  for (let round = 0; round < MOST_ROUNDS && errors.length > 0; round += 1) {
    const found = findPlaces(errors, narrow, items);
    if (found.length === 0) break;
    places.push(...found);
    narrow = replace(narrow, found, Number);
    errors = judge(narrow);
  }
  if (errors.length === 0) return { ok: true, value: replace(value, places, toWide) };
  // Of alternatives another one wanted the text: what is wrong with the value as it was given says more.
  const isMistaken = errors.some((error) => isOfType(error) && Number.isInteger(valueAt(narrow, error)));
  return { ok: false, errors: isMistaken ? asGiven : errors };
};

const isOfType = ({ keyword }: ErrorObject): boolean => keyword === 'type';

const valueAt = (value: unknown, { instancePath }: ErrorObject): unknown =>
  toPointerPath(instancePath, value).reduce(memberAt, value);

const findPlaces = (errors: readonly ErrorObject[], value: unknown, items: 'each' | 'one'): Places => {
  const found = new Map<string, readonly string[]>();
  for (const error of errors) {
    if (!isOfType(error) || ![error.params['type']].flat().some((type) => NUMBERS.has(type))) continue;
    if (!isWideInteger(valueAt(value, error))) continue;
    const path = toPointerPath(error.instancePath, value);
    found.set(
      error.instancePath,
      path.map((step) => (typeof step === 'number' && items === 'one' ? '*' : String(step))),
    );
  }
  return [...found.values()];
};

const memberAt = (value: unknown, step: PropertyKey): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, step) : undefined;

const replace = (value: unknown, places: Places, to: ToWideInteger): unknown =>
  places.reduce((current, path) => replaceAt(current, path, to), value);

const replaceAt = (value: unknown, [step, ...rest]: readonly string[], to: ToWideInteger): unknown => {
  if (step === undefined) return isWideInteger(value) ? to(value) : value;
  if (Array.isArray(value))
    return value.map((item, place) => (step === '*' || step === String(place) ? replaceAt(item, rest, to) : item));
  if (!isRecord(value) || !Object.hasOwn(value, step)) return value;
  return { ...value, [step]: replaceAt(value[step], rest, to) };
};
