import { isRecord, textAt } from 'recourse-server/contract/json-record';

export type ParsedJson = { readonly ok: true; readonly value: unknown } | { readonly ok: false };

// Sixteen digits, or an exponent of three: may be beyond what a number of JavaScript holds.
const LONG_NUMBER = /\d{16}|\d[eE][+-]?\d{3}/;

/** Whether a JSON text may hold a number that parsing changes. */
export const mayChangeNumbers = (text: string): boolean => LONG_NUMBER.test(text);

/**
 * Parses JSON of another program. Numbers beyond what JavaScript holds become the text that stands for them there: whole
 * ones beyond ±2^53−1 (an id must not change silently), and what would be infinite or 0, such as 1e400.
 */
export const parseExactJson = (text: string): ParsedJson =>
  parse(text, mayChangeNumbers(text) ? keepSource : undefined);

/** The same without a look at numbers, for what is a protocol's own. */
export const parseJson = (text: string): ParsedJson => parse(text, undefined);

type Reviver = (key: string, value: unknown) => unknown;

const parse = (text: string, reviver: Reviver | undefined): ParsedJson =>
  tryParse(text, reviver) ?? (NO_NUMBER.test(text) ? tryParse(quoteNoNumbers(text), reviver) : null) ?? { ok: false };

const tryParse = (text: string, reviver: Reviver | undefined): ParsedJson | null => {
  try {
    return { ok: true, value: JSON.parse(text, reviver) };
  } catch (thrown) {
    // A RangeError: nested too deep for the reviver, which the parser itself is not.
    if (thrown instanceof SyntaxError) return null;
    if (thrown instanceof RangeError) return { ok: false };
    throw thrown;
  }
};

// What Python's json writes by default, and JSON does not have.
const NO_NUMBER = /\b(?:NaN|Infinity)\b/;
// Token by token: a pattern for a whole string takes stack for each escape, and for one without an end the square of its length.
const ESCAPE_QUOTE_OR_NO_NUMBER = /\\.|"|-?\b(?:NaN|Infinity)\b/gs;

const quoteNoNumbers = (text: string): string => {
  let isInString = false;
  return text.replace(ESCAPE_QUOTE_OR_NO_NUMBER, (token) => {
    if (token === '"') isInString = !isInString;
    return isInString || token === '"' || token.startsWith('\\') ? token : `"${token}"`;
  });
};

// The third argument of a reviver says how the document wrote the value (ECMAScript 2026, JSON.parse source text access).
const keepSource = (_key: string, value: unknown, ...[context]: readonly unknown[]): unknown => {
  if (typeof value !== 'number' || (value !== 0 && Math.abs(value) <= Number.MAX_SAFE_INTEGER) || !isRecord(context))
    return value;
  const source = textAt(context, 'source') ?? '';
  return isChanged(value, source) ? source : value;
};

const isChanged = (value: number, source: string): boolean => {
  const [digits = ''] = source.split(/[eE]/);
  if (value === 0) return /[1-9]/.test(digits);
  // Fifteen digits come back from a number of JavaScript as they were.
  return !Number.isFinite(value) || /^-?\d+$/.test(source) || digits.replace(/\D/g, '').length > 15;
};
