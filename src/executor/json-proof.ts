import { isDeeperThan, toWellFormedJson } from '../json/json-text.ts';
import { withArticle, withLookahead } from '../tools/describe-value.ts';
import { type Finding, findLoss, writeAsJson } from './lost-values.ts';

/** A value proved to be JSON, as text; or why it is none, or that it is over the cap (`json`: its text, or the beginning). */
export type JsonProof =
  | { readonly kind: 'json'; readonly json: string }
  | { readonly kind: 'invalid'; readonly problem: string }
  | { readonly kind: 'too_large'; readonly json: string | null };

const MAX_PREVIEW_LENGTH = 8192;

/** How many characters are shown of a value that is larger than `maxBytes`. */
export const toPreviewLength = (maxBytes: number): number => Math.min(MAX_PREVIEW_LENGTH, maxBytes >> 2);
// Cutting a text that was put together from pieces makes all of it first.
const MAX_FLATTENED_LENGTH = 16_777_216;

const toPreview = (text: string): string | null =>
  text.length > MAX_FLATTENED_LENGTH ? null : JSON.stringify(withLookahead(text, MAX_PREVIEW_LENGTH));

/** Turns a tool's value into JSON text of at most `maxBytes` UTF-8 bytes. Total; undefined becomes null. */
export const toJsonValue = (value: unknown, maxBytes: number): JsonProof => {
  if (value === undefined || value === null) return { kind: 'json', json: 'null' };
  // Measured first: turning half a gigabyte into JSON only to refuse it would stop the whole service meanwhile.
  if (typeof value === 'string' && value.length > maxBytes) return { kind: 'too_large', json: toPreview(value) };
  const text = stringify(value, JSON.stringify);
  if (typeof text !== 'string') return text;
  if (isOver(text, maxBytes)) return { kind: 'too_large', json: text };
  const finding = findLossIn(value);
  if (finding === 'whole') return { kind: 'json', json: text };
  if (typeof finding === 'object') return { kind: 'invalid', problem: finding.problem };
  return finding === 'unknown' ? proveDepth(text) : proveKeptSize(value, maxBytes);
};

const findLossIn = (value: unknown): Finding => {
  if (typeof value === 'string' || typeof value === 'boolean') return 'whole';
  try {
    return findLoss(value, MAX_DEPTH);
  } catch (_hostile) {
    // What throws when it is looked at again has lost nothing.
    return 'unknown';
  }
};

const proveKeptSize = (value: unknown, maxBytes: number): JsonProof => {
  const text = stringify(value, writeAsJson);
  if (typeof text !== 'string') return text;
  return isOver(text, maxBytes) ? { kind: 'too_large', json: text } : proveDepth(text);
};

const proveDepth = (json: string): JsonProof =>
  isDeeperThan(json, MAX_DEPTH)
    ? { kind: 'invalid', problem: `it is nested deeper than ${MAX_DEPTH} levels` }
    : { kind: 'json', json };

const isOver = (text: string, maxBytes: number): boolean =>
  text.length > maxBytes || (text.length * 3 > maxBytes && Buffer.byteLength(text) > maxBytes);

// Common JSON parsers give up at about a thousand levels, and would refuse the whole batch for one such value.
const MAX_DEPTH = 500;

export type WriteJson = (value: unknown) => string | undefined;

const stringify = (value: unknown, write: WriteJson): string | JsonProof => {
  try {
    const text = write(value);
    if (text !== undefined) return toWellFormedJson(text);
    return { kind: 'invalid', problem: `${withArticle(typeof value)} is not JSON` };
  } catch (thrown) {
    // A tool's own toJSON may throw anything.
    const said = readMember(thrown, 'message');
    const message = typeof said === 'string' ? said : '';
    if (message.startsWith('Invalid string length')) return { kind: 'too_large', json: null };
    if (message.includes('BigInt')) return { kind: 'invalid', problem: 'a BigInt is not JSON; return it as a string' };
    return {
      kind: 'invalid',
      problem: message.includes('circular') ? 'it refers to itself' : 'it cannot be written as JSON',
    };
  }
};

/** A property of anything at all; undefined where there is none or reading it throws. */
export const readMember = (from: unknown, key: PropertyKey): unknown =>
  (typeof from === 'object' && from !== null) || typeof from === 'function'
    ? attempt(() => Reflect.get(from, key))
    : undefined;

export const attempt = <Value>(step: () => Value): Value | undefined => {
  try {
    return step();
  } catch (_hostile) {
    return undefined;
  }
};
