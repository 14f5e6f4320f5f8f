import { skipString } from './json-text.ts';

// Measured by V8's own count for a megabyte of each: `{}` 64 bytes, `[[]]` 25 a bracket and more, a number that is no
// integer 24, a name that no other object has 60 to 80. Names that come again take less than this says.
const OBJECT_BYTES = 64;
const LIST_BYTES = 56;
const NAME_BYTES = 56;
const PLACE_BYTES = 24;

const QUOTE = '"'.charCodeAt(0);
// By the code of the character: a map takes twice as long, for each character outside strings.
const BYTES_OF = new Uint8Array(128);
BYTES_OF['{'.charCodeAt(0)] = OBJECT_BYTES;
BYTES_OF['['.charCodeAt(0)] = LIST_BYTES;
BYTES_OF[':'.charCodeAt(0)] = NAME_BYTES;
BYTES_OF[','.charCodeAt(0)] = PLACE_BYTES;

/** The value of a text of so many characters is within what a request or record takes anyway: it need not be weighed. */
export const SMALL_TEXT = 2048;

/**
 * About how many bytes of the heap the value of a JSON text takes, from the text alone: a megabyte of one string takes one, a
 * megabyte of empty objects twenty. Never parses.
 */
export const weighJson = (json: string): number => {
  let bytes = 0;
  for (let at = 0; at < json.length; ) {
    const sign = json.charCodeAt(at);
    if (sign === QUOTE) {
      at = skipString(json, at + 1);
      continue;
    }
    bytes += BYTES_OF[sign] ?? 0;
    at += 1;
  }
  // A text with one character beyond U+00FF has two bytes for each.
  return bytes + (isNarrow(json) ? json.length : 2 * json.length);
};

const isNarrow = (text: string): boolean => !/[^\0-\xff]/.test(text);
