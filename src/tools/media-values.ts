import { isBase64 } from '../contract/base64.ts';

/** Bytes, or what they are in base64 (RFC 4648, section 4: padded, without line breaks). */
export type MediaData = Uint8Array | ArrayBuffer | string;

/** A picture, sound or file as a tool returns it: docs/formats.md says what each format makes of it. */
export type MediaValue<Kind extends 'image' | 'audio' | 'resource'> = {
  readonly type: Kind;
  readonly mimeType: string;
  readonly data: string;
  readonly uri?: string;
};

/** A text file with an address of its own. */
export type TextFileValue = {
  readonly type: 'resource';
  readonly mimeType: string;
  readonly text: string;
  readonly uri: string;
};

/**
 * A picture for a tool to return, alone, as a member of its value or in a list: `image(await readFile('map.png'), 'image/png')`.
 * Throws a TypeError that says what to pass instead.
 */
export const image = (data: MediaData, mediaType: string): MediaValue<'image'> => ({
  type: 'image',
  mimeType: checkMediaType(mediaType, 'image'),
  data: toBase64(data, 'image'),
});

/** A sound for a tool to return: `audio(bytes, 'audio/mpeg')`. Throws a TypeError that says what to pass instead. */
export const audio = (data: MediaData, mediaType: string): MediaValue<'audio'> => ({
  type: 'audio',
  mimeType: checkMediaType(mediaType, 'audio'),
  data: toBase64(data, 'audio'),
});

/**
 * A file for a tool to return: `file(bytes, 'application/pdf')`, with its address `file({ data: bytes, uri }, 'application/pdf')`,
 * or as a text that the model reads, `file({ text, uri }, 'text/csv')`. Throws a TypeError that says what to pass instead.
 */
export function file(content: { readonly text: string; readonly uri: string }, mediaType: string): TextFileValue;
export function file(
  content: MediaData | { readonly data: MediaData; readonly uri?: string | undefined },
  mediaType: string,
): MediaValue<'resource'>;
export function file(content: unknown, mediaType: string): MediaValue<'resource'> | TextFileValue {
  const mimeType = checkMediaType(mediaType, 'file');
  const { data = content, text, uri } = membersOf(content);
  if (uri !== undefined && (typeof uri !== 'string' || uri === ''))
    throw new TypeError("file(): uri must be a non-empty string, such as 'file:///report.pdf'.");
  if (text === undefined)
    return { type: 'resource', mimeType, data: toBase64(data, 'file'), ...(uri === undefined ? {} : { uri }) };
  if (typeof text !== 'string' || uri === undefined)
    throw new TypeError('file(): a text needs text, a string, and uri, its address: file({ text, uri }, mediaType).');
  return { type: 'resource', mimeType, text, uri };
}

const EXAMPLES = { image: 'image/png', audio: 'audio/mpeg', file: 'application/pdf' } as const;
const MEDIA_TYPE = /^([a-z]+)\/[\w.+-]{1,80}(?:;[ -~]*)?$/i;

const checkMediaType = (mediaType: unknown, of: keyof typeof EXAMPLES): string => {
  if (typeof mediaType === 'string') {
    const kind = MEDIA_TYPE.exec(mediaType)?.[1]?.toLowerCase();
    if (kind !== undefined && (of === 'file' || kind === of)) return mediaType;
  }
  const input = typeof mediaType === 'string' ? JSON.stringify(mediaType.slice(0, 80)) : typeof mediaType;
  throw new TypeError(`${of}(): the second argument must be a media type such as '${EXAMPLES[of]}', not ${input}.`);
};

const membersOf = (content: unknown): { readonly data?: unknown; readonly text?: unknown; readonly uri?: unknown } =>
  typeof content === 'object' && content !== null && !isBytes(content) ? content : {};

const isBytes = (data: unknown): boolean => ArrayBuffer.isView(data) || data instanceof ArrayBuffer;

const toBase64 = (data: unknown, of: string): string => {
  const text = typeof data === 'string' ? data : toBytes(data, of).toString('base64');
  if (text === '')
    throw new TypeError(`${of}(): there are no bytes. Return a string, or empty(), if there is nothing to return.`);
  if (/^data:/i.test(text)) throw new TypeError(`${of}(): pass the part after the comma of a data: URL, or the bytes.`);
  if (isBase64(text)) return text;
  throw new TypeError(
    `${of}(): a string must be base64, padded and without line breaks. Pass bytes (a Uint8Array), or Buffer.from(text).`,
  );
};

const toBytes = (data: unknown, of: string): Buffer => {
  if (ArrayBuffer.isView(data)) return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  if (data instanceof ArrayBuffer) return Buffer.from(data);
  throw new TypeError(`${of}(): data must be bytes (a Uint8Array or ArrayBuffer) or base64 as a string.`);
};
