import { isRecord } from 'recourse-server/contract/json-record';
import { RetryableToolError } from 'recourse-server/tools/tool-errors';
import type { Style } from './parameters.ts';

/** How a value is written, and under which name. `encode` makes one piece safe for where it goes. */
type Styling = {
  readonly name: string;
  readonly style: Style;
  readonly explode: boolean;
  readonly encode: (text: string) => string;
};

export type Arguments = Readonly<Record<string, unknown>>;
export type Pair = readonly [name: string, value: string];

/** A value as JSON. A whole number beyond ±2^53−1 is a bigint here. */
export const toJsonText = (value: unknown): string => {
  try {
    return JSON.stringify(value);
  } catch (thrown) {
    // A bigint, which is rare: with a function for each member all bodies would take five times as long.
    if (thrown instanceof TypeError) return JSON.stringify(value, toRawDigits);
    throw thrown;
  }
};

const toRawDigits = (_key: string, value: unknown): unknown =>
  typeof value === 'bigint' ? JSON.rawJSON(String(value)) : value;

/**
 * One piece as text; what is nested deeper than a style can say is JSON. null and absent are empty. Numbers have no
 * exponent, which few APIs read in a URL.
 */
export const toPiece = (value: unknown): string => {
  if (value === null || value === undefined) return '';
  if (typeof value === 'object') return toJsonText(value);
  const text = String(value);
  return typeof value === 'number' && text.includes('e') ? PLAIN_NUMBER.format(value) : text;
};

// The most that JavaScript allows: what is smaller than that is 0.
const PLAIN_NUMBER = new Intl.NumberFormat('en', { useGrouping: false, maximumFractionDigits: 100 });

const entriesOf = (value: unknown): readonly Pair[] | null =>
  isRecord(value) ? Object.entries(value).map(([key, member]) => [key, toPiece(member)]) : null;

const DELIMITERS: Partial<Record<Style, string>> = { spaceDelimited: '%20', pipeDelimited: '%7C' };

/**
 * A value as pairs of a query, a form or a cookie, encoded (OpenAPI, "Style Examples"). An empty list has no pair. A
 * list inside deepObject gets indexes: `filter[ids][0]=1`.
 */
export const toPairs = (value: unknown, styling: Styling): readonly Pair[] => {
  const { name, style, explode, encode } = styling;
  if (value === null) return [];
  if (style === 'deepObject' && typeof value === 'object') return toDeepPairs(name, value, encode);
  if (Array.isArray(value)) return toListPairs(value, styling);
  const entries = entriesOf(value);
  if (entries === null) return [[encode(name), encode(toPiece(value))]];
  const encoded = entries.map(([member, piece]): Pair => [encode(member), encode(piece)]);
  return explode ? encoded : [[encode(name), encoded.flat().join(DELIMITERS[style] ?? ',')]];
};

const toListPairs = (items: readonly unknown[], { name, style, explode, encode }: Styling): readonly Pair[] => {
  const pieces = items.map((item) => encode(toPiece(item)));
  if (explode) return pieces.map((piece) => [encode(name), piece]);
  return pieces.length === 0 ? [] : [[encode(name), pieces.join(DELIMITERS[style] ?? ',')]];
};

const toDeepPairs = (name: string, value: object, encode: Styling['encode']): readonly Pair[] =>
  Object.entries(value).flatMap(([key, member]: readonly [string, unknown]): readonly Pair[] => {
    const inner = `${name}[${key}]`;
    if (member === null || member === undefined) return [];
    return typeof member === 'object' ? toDeepPairs(inner, member, encode) : [[encode(inner), encode(toPiece(member))]];
  });

/** A value as one text, for a path or a header: `simple`, `label` or `matrix`. */
export const toStyledText = (value: unknown, { name, style, explode, encode }: Styling): string => {
  const key = encode(name);
  const entries = entriesOf(value)?.map(([member, piece]): Pair => [encode(member), encode(piece)]);
  const items = Array.isArray(value) ? value.map((item) => encode(toPiece(item))) : null;
  const joined = entries?.map((pair) => pair.join(explode ? '=' : ',')) ?? items ?? [encode(toPiece(value))];
  switch (style) {
    case 'label':
      return `.${joined.join(explode ? '.' : ',')}`;
    case 'matrix':
      return toMatrix(key, joined, { explode, hasKeys: entries !== undefined });
    default:
      return joined.join(',');
  }
};

const toMatrix = (
  key: string,
  joined: readonly string[],
  { explode, hasKeys }: { readonly explode: boolean; readonly hasKeys: boolean },
): string => {
  if (explode && hasKeys) return joined.map((pair) => `;${pair}`).join('');
  if (explode) return joined.map((item) => toMatrixItem(key, item)).join('');
  return toMatrixItem(key, joined.join(','));
};

const toMatrixItem = (key: string, item: string): string => (item === '' ? `;${key}` : `;${key}=${item}`);

// What allowReserved lets through; not `&`, `#`, `+` and `%`, with which a value could leave its place.
const KEPT = /%(3A|2F|3F|40|24|2C|3B|3D)/g;

/** Everything but letters, digits and `- . _ ~` as UTF-8 percent codes (RFC 3986). Throws where the text is no Unicode. */
export const percentEncode = (text: string, reserved: 'encode' | 'keep' = 'encode'): string => {
  if (!text.isWellFormed())
    throw toArgumentRefusal('A text contains half a character (a lone surrogate). Send whole characters.');
  const encoded = encodeURIComponent(text).replace(/[!'()*]/g, toCode);
  return reserved === 'encode' ? encoded : encoded.replace(KEPT, (code) => decodeURIComponent(code));
};

const toCode = (character: string): string => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;

/** The error for arguments that no request can be made of: nothing was sent. */
export const toArgumentRefusal = (message: string): RetryableToolError =>
  new RetryableToolError(message, { executed: 'no' });
