import { isRecord, textAt } from '../document/json-record.ts';
import { toArgumentRefusal } from './argument-refusal.ts';

/** How files of the workspace are had. */
export type FileReading = {
  /** Bytes of one file that is sent. */
  readonly maxUploadBytes: number;
  /** All of a file, or one byte more than `most` where it is larger. Rejects with what a model is told. null = not allowed. */
  readonly readWorkspaceFile: ((path: string, most: number) => Promise<Uint8Array>) | null;
};

export type SentFile = { readonly bytes: Uint8Array; readonly fileName: string; readonly contentType: string | null };

const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/;
// A token, a slash and a token, with parameters (RFC 9110, section 8.3.1): nothing that could end the line.
const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(; ?[\w-]+=[\w.+-]+)*$/;

/** A file as an argument gives it. Rejects with a RetryableToolError where it gives none, or too large a one. */
export const readSentFile = async (given: unknown, reading: FileReading): Promise<SentFile> => {
  if (!isRecord(given)) throw toArgumentRefusal(ONE_OF);
  const contentType = textAt(given, 'content_type') ?? null;
  if (contentType !== null && !MEDIA_TYPE.test(contentType))
    throw toArgumentRefusal('content_type is no media type. Send one such as image/png, or leave it out.');
  const path = textAt(given, 'path');
  const bytes = await toBytes(given, reading);
  if (bytes.byteLength > reading.maxUploadBytes)
    throw toArgumentRefusal(`The file is larger than ${reading.maxUploadBytes} bytes. Send a smaller one.`);
  const fileName = textAt(given, 'file_name') ?? path?.split('/').at(-1) ?? 'file';
  return { bytes, fileName, contentType };
};

const ONE_OF = 'A file needs exactly one of text, base64 and, where it is offered, path.';

const toBytes = (given: Readonly<Record<string, unknown>>, reading: FileReading): Promise<Uint8Array> => {
  const { text, base64, path } = given;
  if ([text, base64, path].filter((one) => typeof one === 'string').length !== 1) throw toArgumentRefusal(ONE_OF);
  if (typeof text === 'string') return Promise.resolve(Buffer.from(text));
  if (typeof base64 === 'string') return Promise.resolve(toDecoded(base64));
  if (reading.readWorkspaceFile === null || typeof path !== 'string')
    throw toArgumentRefusal('Files of the workspace are not sent to this API. Send text or base64.');
  return reading.readWorkspaceFile(path, reading.maxUploadBytes);
};

const toDecoded = (base64: string): Uint8Array => {
  const compact = base64.replace(/\s+/g, '');
  if (!BASE64.test(compact)) throw toArgumentRefusal('base64 holds other characters than those of base64.');
  return Buffer.from(compact, 'base64');
};
