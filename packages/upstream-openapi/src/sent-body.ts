import { randomUUID } from 'node:crypto';
import { isRecord, textAt } from 'recourse-server/contract/json-record';
import type { MemberEncoding, RequestBody } from './request-body.ts';
import { type Arguments, percentEncode, toArgumentRefusal, toJsonText, toPairs, toPiece } from './written-values.ts';

/** A body as it is sent, and its Content-Type. */
type SentBody = { readonly content: string | Uint8Array; readonly contentType: string };

/**
 * The body of a request; null where the arguments hold nothing for one that is optional. Rejects with a
 * RetryableToolError where a file cannot be sent.
 */
export const toSentBody = async (
  body: RequestBody,
  input: Arguments,
  reading: FileReading,
): Promise<SentBody | null> => {
  const value = toBodyValue(body, input);
  if (value === undefined) return null;
  switch (body.kind) {
    case 'json':
      return { content: toJsonText(value), contentType: body.media };
    case 'text':
      return { content: toPiece(value), contentType: `${body.media}; charset=utf-8` };
    case 'form':
      return { content: toForm(value, body.encodings), contentType: body.media };
    case 'multipart':
      return toMultipart(value, body.files, reading);
    case 'binary': {
      const { bytes, contentType } = await readSentFile(value, reading);
      return { content: bytes, contentType: contentType ?? body.media };
    }
  }
};

const toBodyValue = (body: RequestBody, input: Arguments): unknown => {
  const { argument, fallbacks, fixed } = body;
  const value = argument === null ? toOwnMembers(body, input) : toArgument(argument, input);
  const isNothing = value === undefined && fixed.size === 0 && !(body.required && argument === null);
  if (isNothing || (value !== undefined && !isRecord(value))) return value;
  const standIns = [...fallbacks].filter(([name]) => value === undefined || !Object.hasOwn(value, name));
  return { ...value, ...Object.fromEntries([...standIns, ...fixed]) };
};

const toArgument = (argument: string, input: Arguments): unknown =>
  Object.hasOwn(input, argument) ? input[argument] : undefined;

const toOwnMembers = (body: RequestBody, input: Arguments): Arguments | undefined => {
  const sent = [...body.arguments.keys()].filter((name) => Object.hasOwn(input, name));
  return sent.length === 0 ? undefined : Object.fromEntries(sent.map((name) => [name, input[name]]));
};

const entriesOf = (value: unknown): readonly (readonly [string, unknown])[] =>
  typeof value === 'object' && value !== null ? Object.entries(value) : [];

// Objects are JSON unless the document gives a style (OpenAPI 3.1, "Encoding Object": the default is by content).
const toForm = (value: unknown, encodings: RequestBody['encodings']): string =>
  entriesOf(value)
    .flatMap(([name, member]) =>
      toPairs(toStyleable(member, encodings.get(name)), toStyling(name, encodings.get(name))),
    )
    .map((pair) => pair.join('='))
    .join('&');

const toStyleable = (member: unknown, encoding: MemberEncoding | undefined): unknown =>
  encoding === undefined && typeof member === 'object' && member !== null && !Array.isArray(member)
    ? toJsonText(member)
    : member;

const toStyling = (name: string, encoding: MemberEncoding | undefined) => ({
  name,
  style: encoding?.style ?? ('form' as const),
  explode: encoding?.explode ?? true,
  encode: (text: string) => percentEncode(text),
});

/** Fields and files (RFC 7578); names are escaped as browsers do it (HTML, "multipart/form-data encoding algorithm"). */
const toMultipart = async (value: unknown, files: ReadonlySet<string>, reading: FileReading): Promise<SentBody> => {
  const boundary = `recourse-${randomUUID()}`;
  const pieces: Uint8Array[] = [];
  for (const [name, member] of entriesOf(value))
    for (const item of Array.isArray(member) ? member : [member])
      pieces.push(...(files.has(name) ? await toFile(boundary, name, item, reading) : [toField(boundary, name, item)]));
  return {
    content: Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)]),
    contentType: `multipart/form-data; boundary=${boundary}`,
  };
};

const escapeName = (name: string): string => name.replace(/["\r\n]/g, (character) => percentEncode(character));

const toField = (boundary: string, name: string, value: unknown): Uint8Array => {
  const type = typeof value === 'object' && value !== null ? 'Content-Type: application/json\r\n' : '';
  const head = `--${boundary}\r\nContent-Disposition: form-data; name="${escapeName(name)}"\r\n${type}\r\n`;
  return Buffer.from(`${head}${toPiece(value)}\r\n`);
};

const toFile = async (
  boundary: string,
  name: string,
  value: unknown,
  reading: FileReading,
): Promise<readonly Uint8Array[]> => {
  const { bytes, fileName, contentType } = await readSentFile(value, reading);
  const disposition = `form-data; name="${escapeName(name)}"; filename="${escapeName(fileName)}"`;
  const type = contentType ?? 'application/octet-stream';
  const head = `--${boundary}\r\nContent-Disposition: ${disposition}\r\nContent-Type: ${type}\r\n\r\n`;
  return [Buffer.from(head), bytes, Buffer.from('\r\n')];
};

/** How files of the workspace are had. */
export type FileReading = {
  /** Bytes of one file that is sent. */
  readonly maxUploadBytes: number;
  /** All of a file, or one byte more than `most` where it is larger. Rejects with what a model is told. null = not allowed. */
  readonly readWorkspaceFile: ((path: string, most: number) => Promise<Uint8Array>) | null;
};

type SentFile = { readonly bytes: Uint8Array; readonly fileName: string; readonly contentType: string | null };

const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/;
// A token, a slash and a token, with parameters (RFC 9110, section 8.3.1): nothing that could end the line.
const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(; ?[\w-]+=[\w.+-]+)*$/;

/** A file as an argument gives it. Rejects with a RetryableToolError where it gives none, or too large a one. */
const readSentFile = async (input: unknown, reading: FileReading): Promise<SentFile> => {
  if (!isRecord(input)) throw toArgumentRefusal(ONE_OF);
  const contentType = textAt(input, 'content_type') ?? null;
  if (contentType !== null && !MEDIA_TYPE.test(contentType))
    throw toArgumentRefusal('content_type is not a media type. Send one such as image/png, or leave it out.');
  const path = textAt(input, 'path');
  const bytes = await toBytes(input, reading);
  if (bytes.byteLength > reading.maxUploadBytes)
    throw toArgumentRefusal(`The file is larger than ${reading.maxUploadBytes} bytes. Send a smaller one.`);
  const fileName = textAt(input, 'file_name') ?? path?.split('/').at(-1) ?? 'file';
  return { bytes, fileName, contentType };
};

const ONE_OF = 'A file needs exactly one of text, base64 and, if available, path.';

const toBytes = (input: Readonly<Record<string, unknown>>, reading: FileReading): Promise<Uint8Array> => {
  const { text, base64, path } = input;
  if ([text, base64, path].filter((one) => typeof one === 'string').length !== 1) throw toArgumentRefusal(ONE_OF);
  if (typeof text === 'string') return Promise.resolve(Buffer.from(text));
  if (typeof base64 === 'string') return Promise.resolve(toDecoded(base64));
  if (reading.readWorkspaceFile === null || typeof path !== 'string')
    throw toArgumentRefusal('Files of the workspace are not sent to this API. Send text or base64.');
  return reading.readWorkspaceFile(path, reading.maxUploadBytes);
};

const toDecoded = (base64: string): Uint8Array => {
  const compact = base64.replace(/\s+/g, '');
  if (!BASE64.test(compact)) throw toArgumentRefusal('base64 contains invalid characters.');
  return Buffer.from(compact, 'base64');
};
