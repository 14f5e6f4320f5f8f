import { randomUUID } from 'node:crypto';
import { isRecord } from '../document/json-record.ts';
import type { MemberEncoding, RequestBody } from '../operation/request-body.ts';
import { percentEncode } from './percent-encode.ts';
import type { Arguments } from './request-url.ts';
import { type FileReading, readSentFile } from './sent-file.ts';
import { toPairs, toPiece } from './style-parameter.ts';

/** A body as it is sent, and its Content-Type. */
export type SentBody = { readonly content: string | Uint8Array; readonly contentType: string };

/**
 * The body of a request; null where the arguments hold nothing for one that is optional. Rejects with a
 * RetryableToolError where a file cannot be sent.
 */
export const toSentBody = async (
  body: RequestBody,
  given: Arguments,
  reading: FileReading,
): Promise<SentBody | null> => {
  const value = toBodyValue(body, given);
  if (value === undefined) return null;
  switch (body.kind) {
    case 'json':
      return { content: JSON.stringify(value), contentType: body.media };
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

const toBodyValue = (body: RequestBody, given: Arguments): unknown => {
  const { argument, fallbacks, fixed } = body;
  const value = argument === null ? toOwnMembers(body, given) : toArgument(argument, given);
  const isNothing = value === undefined && fixed.size === 0 && !(body.required && argument === null);
  if (isNothing || (value !== undefined && !isRecord(value))) return value;
  const standIns = [...fallbacks].filter(([name]) => value === undefined || !Object.hasOwn(value, name));
  return { ...value, ...Object.fromEntries([...standIns, ...fixed]) };
};

const toArgument = (argument: string, given: Arguments): unknown =>
  Object.hasOwn(given, argument) ? given[argument] : undefined;

const toOwnMembers = (body: RequestBody, given: Arguments): Arguments | undefined => {
  const sent = [...body.arguments.keys()].filter((name) => Object.hasOwn(given, name));
  return sent.length === 0 ? undefined : Object.fromEntries(sent.map((name) => [name, given[name]]));
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
    ? JSON.stringify(member)
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
