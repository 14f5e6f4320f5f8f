import { randomUUID } from 'node:crypto';
import type { MemberEncoding, RequestBody } from '../operation/request-body.ts';
import { percentEncode } from './percent-encode.ts';
import type { Arguments } from './request-url.ts';
import { toPairs, toPiece } from './style-parameter.ts';

/** A body as it is sent, and its Content-Type. */
export type SentBody = { readonly text: string; readonly contentType: string };

/** The body of a request; null where the arguments hold nothing for one that is optional. */
export const toBodyText = (body: RequestBody, given: Arguments): SentBody | null => {
  const value = toBodyValue(body, given);
  if (value === undefined) return null;
  switch (body.kind) {
    case 'json':
      return { text: JSON.stringify(value), contentType: body.media };
    case 'text':
      return { text: toPiece(value), contentType: `${body.media}; charset=utf-8` };
    case 'form':
      return { text: toForm(value, body.encodings), contentType: body.media };
    case 'multipart':
      return toMultipart(value);
  }
};

const toBodyValue = (body: RequestBody, given: Arguments): unknown => {
  if (body.argument !== null) return Object.hasOwn(given, body.argument) ? given[body.argument] : undefined;
  const sent = [...body.arguments.keys()].filter((name) => Object.hasOwn(given, name));
  if (sent.length === 0 && !body.required) return undefined;
  const standIns = [...body.fallbacks].filter(([name]) => !Object.hasOwn(given, name));
  return Object.fromEntries([...sent.map((name) => [name, given[name]]), ...standIns]);
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

/** Text fields alone (RFC 7578); names are escaped as browsers do it (HTML, "multipart/form-data encoding algorithm"). */
const toMultipart = (value: unknown): SentBody => {
  const boundary = `recourse-${randomUUID()}`;
  const fields = entriesOf(value).flatMap(([name, member]) =>
    (Array.isArray(member) ? member : [member]).map((item: unknown) => toField(boundary, name, item)),
  );
  return { text: `${fields.join('')}--${boundary}--\r\n`, contentType: `multipart/form-data; boundary=${boundary}` };
};

const toField = (boundary: string, name: string, value: unknown): string => {
  const escaped = name.replace(/["\r\n]/g, (character) => percentEncode(character));
  const type = typeof value === 'object' && value !== null ? 'Content-Type: application/json\r\n' : '';
  return `--${boundary}\r\nContent-Disposition: form-data; name="${escaped}"\r\n${type}\r\n${toPiece(value)}\r\n`;
};
