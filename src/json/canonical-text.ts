import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';

/**
 * The RFC 8785 text of a JSON value: equal for values that differ in nothing but the order of members and the writing
 * of numbers. Where a value has none (a lone surrogate), its JSON text; "" where it has no text at all.
 */
export const toCanonicalText = (value: unknown): string => {
  try {
    return canonicalize(value) ?? '';
  } catch (_lone) {
    return toPlainText(value);
  }
};

// What is nested thousands of levels deep has no text either; such arguments are refused anyway.
const toPlainText = (value: unknown): string => {
  try {
    return JSON.stringify(value) ?? '';
  } catch (_deep) {
    return '';
  }
};

/** SHA-256 of a text, 64 hex digits. */
export const toDigest = (text: string): string => hash('sha256', text);

const HALF_MARK = 8;

/** The beginning of a digest, 16 hex digits: enough to tell apart the few that one session keeps of one tool. */
export const toMark = (digest: string): string =>
  // A text of its own: sessions keep marks, and a slice of 13 characters or more keeps the whole digest with it.
  [digest.slice(0, HALF_MARK), digest.slice(HALF_MARK, 2 * HALF_MARK)].join('');
