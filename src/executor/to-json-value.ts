import { withArticle, withLookahead } from '../tools/describe-value.ts';
import { isDeeperThan } from './json-text.ts';

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
  const text = stringify(value);
  if (typeof text !== 'string') return text;
  const over = text.length > maxBytes || (text.length * 3 > maxBytes && Buffer.byteLength(text) > maxBytes);
  if (over) return { kind: 'too_large', json: text };
  if (isDeeperThan(text, MAX_DEPTH))
    return { kind: 'invalid', problem: `it is nested deeper than ${MAX_DEPTH} levels` };
  return { kind: 'json', json: text };
};

// Common JSON parsers give up at about a thousand levels, and would refuse the whole batch for one such value.
const MAX_DEPTH = 500;

const stringify = (value: unknown): string | JsonProof => {
  try {
    return JSON.stringify(value) ?? { kind: 'invalid', problem: `${withArticle(typeof value)} is not JSON` };
  } catch (thrown) {
    return toProblem(thrown);
  }
};

const toProblem = (thrown: unknown): JsonProof => {
  const message = messageOf(thrown);
  if (message.startsWith('Invalid string length')) return { kind: 'too_large', json: null };
  if (message.includes('BigInt')) return { kind: 'invalid', problem: 'a BigInt is not JSON; return it as a string' };
  if (message.includes('circular')) return { kind: 'invalid', problem: 'it refers to itself' };
  return { kind: 'invalid', problem: 'it cannot be written as JSON' };
};

// A tool's own toJSON may throw anything: a revoked proxy, on which even `instanceof` throws, or a message that is none.
const messageOf = (thrown: unknown): string => {
  try {
    return thrown instanceof Error && typeof thrown.message === 'string' ? thrown.message : '';
  } catch (_hostile) {
    return '';
  }
};
