import { isRecord } from 'recourse-server/contract/json-record';
import { RetryableToolError } from 'recourse-server/tools/tool-errors';

export const STYLES = ['form', 'simple', 'label', 'matrix', 'spaceDelimited', 'pipeDelimited', 'deepObject'] as const;

/** How a value is written, and under which name. `encode` makes one piece safe for where it goes. */
export type Styling = {
  readonly name: string;
  readonly style: (typeof STYLES)[number];
  readonly explode: boolean;
  readonly encode: (text: string) => string;
};

export type Pair = readonly [name: string, value: string];

/** A value as JSON. A whole number beyond ±2^53−1 is a bigint here. */
export const toJsonText = (value: unknown): string => {
  try {
    return JSON.stringify(value);
  } catch (thrown) {
    // A bigint, which is rare: with a function for each member all bodies would take five times as long.
    if (thrown instanceof TypeError)
      return JSON.stringify(value, (_key, one: unknown) => (typeof one === 'bigint' ? JSON.rawJSON(String(one)) : one));
    throw thrown;
  }
};

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

const DELIMITERS: Partial<Record<Styling['style'], string>> = { spaceDelimited: '%20', pipeDelimited: '%7C' };

/**
 * A value as pairs of a query, a form or a cookie, encoded (OpenAPI, "Style Examples"). An empty list has no pair. A
 * list inside deepObject gets indexes: `filter[ids][0]=1`.
 */
export const writePairs = (value: unknown, { name, style, explode, encode }: Styling): readonly Pair[] => {
  if (value === null) return [];
  if (typeof value !== 'object') return [[encode(name), encode(toPiece(value))]];
  if (style === 'deepObject') return writeDeepPairs(name, value, encode);
  const members = Object.entries(value).map(
    ([key, member]: readonly [string, unknown]): Pair => [
      encode(isRecord(value) ? key : name),
      encode(toPiece(member)),
    ],
  );
  if (explode) return members;
  const pieces = isRecord(value) ? members.flat() : members.map(([, piece]) => piece);
  return pieces.length === 0 && !isRecord(value) ? [] : [[encode(name), pieces.join(DELIMITERS[style] ?? ',')]];
};

const writeDeepPairs = (name: string, value: object, encode: Styling['encode']): readonly Pair[] =>
  Object.entries(value).flatMap(([key, member]: readonly [string, unknown]): readonly Pair[] => {
    const inner = `${name}[${key}]`;
    if (member === null || member === undefined) return [];
    return typeof member === 'object'
      ? writeDeepPairs(inner, member, encode)
      : [[encode(inner), encode(toPiece(member))]];
  });

/** A value as one text, for a path or a header: `simple`, `label` or `matrix`. */
export const writeText = (value: unknown, styling: Styling): string => {
  const { style, explode, encode } = styling;
  if (style === 'matrix')
    return writePairs(value, styling)
      .map(([name, text]) => (text === '' ? `;${name}` : `;${name}=${text}`))
      .join('');
  const members = isRecord(value) ? Object.entries(value) : [value].flat().map((item) => [item]);
  const pieces = members.map((member) => member.map((one) => encode(toPiece(one))).join(explode ? '=' : ','));
  return style === 'label' ? `.${pieces.join(explode ? '.' : ',')}` : pieces.join(',');
};

// What allowReserved lets through; not `&`, `#`, `+` and `%`, with which a value could leave its place.
const KEPT = /%(3A|2F|3F|40|24|2C|3B|3D)/g;

/** Everything but letters, digits and `- . _ ~` as UTF-8 percent codes (RFC 3986). Throws where the text is no Unicode. */
export const percentEncode = (text: string, reserved: 'encode' | 'keep' = 'encode'): string => {
  if (!text.isWellFormed())
    throw createArgumentRefusal('A text contains half a character (a lone surrogate). Send whole characters.');
  const encoded = encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return reserved === 'encode' ? encoded : encoded.replace(KEPT, (code) => decodeURIComponent(code));
};

/** Whether a step of a path is `.` or `..`, which the parser of URLs takes for a step up. */
export const hasDotSegment = (path: string): boolean =>
  path.split('/').some((segment) => /^(\.|%2e){1,2}$/i.test(segment));

/** The error for arguments that no request can be made of: nothing was sent. */
export const createArgumentRefusal = (message: string): RetryableToolError =>
  new RetryableToolError(message, { executed: 'no' });
