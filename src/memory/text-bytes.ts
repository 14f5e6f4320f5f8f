// Header, hash and length of a string, and what its size is rounded up to.
const HEAD = 24;

/**
 * What a text takes of the heap, in bytes, at least. V8 keeps one byte a character up to U+00FF and two for all
 * characters of a text with one beyond: what is not ASCII is weighed as the second. Also makes a rope flat.
 */
export const textBytes = (text: string): number =>
  HEAD + (Buffer.byteLength(text) === text.length ? text.length : 2 * text.length);
