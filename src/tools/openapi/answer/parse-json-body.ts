import { isRecord, textAt } from '../document/json-record.ts';

export type ParsedJson = { readonly ok: true; readonly value: unknown } | { readonly ok: false };

// Sixteen digits or more: may be beyond what a number of JavaScript holds.
const LONG_NUMBER = /\d{16}/;

/** Parses the JSON of an API. Whole numbers beyond ±2^53−1 become their digits as text: an id must not change silently. */
export const parseJsonBody = (text: string): ParsedJson => {
  try {
    return { ok: true, value: LONG_NUMBER.test(text) ? JSON.parse(text, keepDigits) : JSON.parse(text) };
  } catch (thrown) {
    // A RangeError: nested too deep for the reviver, which the parser itself is not.
    if (thrown instanceof SyntaxError || thrown instanceof RangeError) return { ok: false };
    throw thrown;
  }
};

// The third argument of a reviver says how the document wrote the value (ECMAScript 2026, JSON.parse source text access).
const keepDigits = (_key: string, value: unknown, ...[context]: readonly unknown[]): unknown => {
  if (typeof value !== 'number' || Number.isSafeInteger(value) || !isRecord(context)) return value;
  const digits = textAt(context, 'source') ?? '';
  return /^-?\d+$/.test(digits) ? digits : value;
};
