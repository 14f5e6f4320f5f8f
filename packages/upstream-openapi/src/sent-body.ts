import { randomUUID } from 'node:crypto';
import { isRecord, type JsonRecord, textAt } from 'recourse-server/contract/json-record';
import type { ImportMeans } from './import-means.ts';
import type { RequestBody } from './request-body.ts';
import { createArgumentRefusal, percentEncode, toJsonText, toPiece, writePairs } from './written-values.ts';

/** What files are sent with: their limit in bytes, and how those of the workspace are read. */
type FileReading = Pick<ImportMeans, 'settings' | 'readWorkspaceFile'>;

/**
 * The body of a request and its Content-Type; null where the arguments hold nothing for one that is optional. Rejects with a
 * RetryableToolError where a file cannot be sent.
 */
export const writeBody = async (body: RequestBody, input: JsonRecord, reading: FileReading) => {
  const value = readBodyValue(body, input);
  if (value === undefined) return null;
  switch (body.kind) {
    case 'json':
      return { content: toJsonText(value), contentType: body.media };
    case 'text':
      return { content: toPiece(value), contentType: `${body.media}; charset=utf-8` };
    case 'form':
      return { content: writeForm(value, body.encodings), contentType: body.media };
    case 'multipart':
      return writeMultipart(value, body, reading);
    case 'binary': {
      const { bytes, contentType } = await readSentFile(value, reading);
      return { content: bytes, contentType: contentType ?? body.media };
    }
  }
};

/** The value that is sent, with what the settings and the document give; undefined where there is none. */
const readBodyValue = ({ whole, members, required }: RequestBody, input: JsonRecord): unknown => {
  const value = whole === null ? readOwnMembers(members, input) : readArgument(whole.argument, input);
  const isFixed = members.some(({ argument }) => argument === null);
  const isNothing = value === undefined && !isFixed && !(required && whole === null);
  if (isNothing || (value !== undefined && !isRecord(value))) return value;
  const added = members.filter(
    ({ name, argument, fallback }) =>
      fallback !== undefined && (argument === null || value === undefined || !Object.hasOwn(value, name)),
  );
  return { ...value, ...Object.fromEntries(added.map(({ name, fallback }) => [name, fallback])) };
};

const readArgument = (argument: string | null, input: JsonRecord): unknown =>
  argument !== null && Object.hasOwn(input, argument) ? input[argument] : undefined;

const readOwnMembers = (members: RequestBody['members'], input: JsonRecord): JsonRecord | undefined => {
  const sent = members.filter(({ argument }) => argument !== null && Object.hasOwn(input, argument));
  return sent.length === 0 ? undefined : Object.fromEntries(sent.map(({ name }) => [name, input[name]]));
};

const entriesOf = (value: unknown): readonly (readonly [string, unknown])[] =>
  typeof value === 'object' && value !== null ? Object.entries(value) : [];

// Objects are JSON unless the document gives a style (OpenAPI 3.1, "Encoding Object": the default is by content).
const writeForm = (value: unknown, encodings: RequestBody['encodings']): string =>
  entriesOf(value)
    .flatMap(([name, member]) => {
      const encoding = encodings.get(name);
      const written = encoding === undefined && isRecord(member) ? toJsonText(member) : member;
      const { style, explode } = encoding ?? { style: 'form', explode: true };
      return writePairs(written, { name, style, explode, encode: (text) => percentEncode(text) });
    })
    .map((pair) => pair.join('='))
    .join('&');

/** Fields and files (RFC 7578); names are escaped as browsers do it (HTML, "multipart/form-data encoding algorithm"). */
const writeMultipart = async (value: unknown, { members }: RequestBody, reading: FileReading) => {
  const boundary = `recourse-${randomUUID()}`;
  const files = new Set(members.filter(({ content }) => content === 'file').map(({ name }) => name));
  const pieces: Uint8Array[] = [];
  for (const [name, member] of entriesOf(value))
    for (const item of [member].flat()) {
      const { head, bytes } = files.has(name) ? await writeFile(item, reading) : writeField(item);
      const disposition = `--${boundary}\r\nContent-Disposition: form-data; name="${escapeName(name)}"${head}\r\n\r\n`;
      pieces.push(Buffer.from(disposition), bytes, Buffer.from('\r\n'));
    }
  return {
    content: Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)]),
    contentType: `multipart/form-data; boundary=${boundary}`,
  };
};

const escapeName = (name: string): string => name.replace(/["\r\n]/g, (character) => percentEncode(character));

const writeField = (value: unknown) => ({
  head: typeof value === 'object' && value !== null ? '\r\nContent-Type: application/json' : '',
  bytes: Buffer.from(toPiece(value)),
});

const writeFile = async (value: unknown, reading: FileReading) => {
  const { bytes, fileName, contentType } = await readSentFile(value, reading);
  const type = contentType ?? 'application/octet-stream';
  return { head: `; filename="${escapeName(fileName)}"\r\nContent-Type: ${type}`, bytes };
};

// A token, a slash and a token, with parameters (RFC 9110, section 8.3.1): nothing that could end the line.
const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(; ?[\w-]+=[\w.+-]+)*$/;

/** A file as an argument gives it. Rejects with a RetryableToolError where it gives none, or too large a one. */
const readSentFile = async (input: unknown, reading: FileReading) => {
  if (!isRecord(input)) throw createArgumentRefusal(ONE_OF);
  const contentType = textAt(input, 'content_type') ?? null;
  if (contentType !== null && !MEDIA_TYPE.test(contentType))
    throw createArgumentRefusal('content_type is not a media type. Send one such as image/png, or leave it out.');
  const bytes = await readContent(input, reading);
  const { maxUploadBytes } = reading.settings;
  if (bytes.byteLength > maxUploadBytes)
    throw createArgumentRefusal(`The file is larger than ${maxUploadBytes} bytes. Send a smaller one.`);
  const fileName = textAt(input, 'file_name') ?? textAt(input, 'path')?.split('/').at(-1) ?? 'file';
  return { bytes, fileName, contentType };
};

const ONE_OF = 'A file needs exactly one of text, base64 and, if available, path.';

const readContent = async ({ text, base64, path }: JsonRecord, reading: FileReading): Promise<Uint8Array> => {
  if ([text, base64, path].filter((one) => typeof one === 'string').length !== 1) throw createArgumentRefusal(ONE_OF);
  if (typeof text === 'string') return Buffer.from(text);
  if (typeof base64 === 'string') return decodeBase64(base64);
  if (reading.readWorkspaceFile === null || typeof path !== 'string')
    throw createArgumentRefusal('Files of the workspace are not sent to this API. Send text or base64.');
  return reading.readWorkspaceFile(path, reading.settings.maxUploadBytes);
};

const decodeBase64 = (base64: string): Uint8Array => {
  const compact = base64.replace(/\s+/g, '');
  // The sign that is wrong is looked for: a pattern over the whole text needs a stack of its size where V8 does not optimise it.
  if (/[^A-Za-z0-9+/_-](?!=?$)|[^A-Za-z0-9+/_=-]/.test(compact))
    throw createArgumentRefusal('base64 contains invalid characters.');
  return Buffer.from(compact, 'base64');
};
