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
