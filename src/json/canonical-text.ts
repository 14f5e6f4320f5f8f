import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';

/**
 * The RFC 8785 text of a JSON value: equal for values that differ in nothing but the order of members and the writing
 * of numbers. Where a value has none (a lone surrogate), its JSON text; "" where it has no text at all.
 */
export const toCanonicalText = (value: unknown): string => {
  try {
    return (isInOrder(value) ? JSON.stringify(value) : canonicalize(value)) ?? '';
  } catch (_lone) {
    return toPlainText(value);
  }
};

// Of most values JSON.stringify gives that text, in a third of the time.
const isInOrder = (value: unknown): boolean => {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' || value === null)
    return true;
  if (Array.isArray(value)) return value.every(isInOrder);
  if (!isObject(value) || typeof value['toJSON'] === 'function') return false;
  let last: string | null = null;
  for (const name of Object.keys(value)) {
    // By UTF-16 code units, as RFC 8785 has it.
    if ((last !== null && name < last) || !isInOrder(value[name])) return false;
    last = name;
  }
  return true;
};

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === 'object';

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
