import { toArgumentRefusal } from './argument-refusal.ts';

// What allowReserved lets through; not `&`, `#`, `+` and `%`, with which a value could leave its place.
const KEPT = /%(3A|2F|3F|40|24|2C|3B|3D)/g;

/** Everything but letters, digits and `- . _ ~` as UTF-8 percent codes (RFC 3986). Throws where the text is no Unicode. */
export const percentEncode = (text: string, reserved: 'encode' | 'keep' = 'encode'): string => {
  if (!text.isWellFormed())
    throw toArgumentRefusal('A text holds half of a character (a lone surrogate). Send whole characters.');
  const encoded = encodeURIComponent(text).replace(/[!'()*]/g, toCode);
  return reserved === 'encode' ? encoded : encoded.replace(KEPT, (code) => decodeURIComponent(code));
};

const toCode = (character: string): string => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
