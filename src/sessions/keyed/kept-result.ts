import * as z from 'zod';

/** A result text beyond this is kept without its value. In bytes of UTF-8, like all sizes here. */
export const MAX_RESULT_BYTES = 256 * 1024;
/** What the results of one record may come to together. */
export const MAX_RECORD_BYTES = 4 * 1024 * 1024;
// As long as a failure's message may be: what a tool says beside a value can be as large as the value.
const MAX_MESSAGE_LENGTH = 2000;

const NOT_KEPT = 'not kept; the call ran and is not run again.';
const recordTooLarge = (bytes: number): string =>
  `The results of this batch were larger than ${bytes} bytes, and this one was ${NOT_KEPT}`;
const resultTooLarge = (bytes: number): string => `The result was larger than ${bytes} bytes and was ${NOT_KEPT}`;

/** The result as it can be kept. */
export type CapResult = (result: string) => string;

/**
 * Keeps one record within its size, of which its earlier results have used a part. A result that is too large stays what
 * it was, success or not, with a null value, `truncated` and a warning; id and name, the caller's own words, stay too.
 */
export const createResultCap = (
  earlier: Iterable<string>,
  limits: { readonly maxResultBytes?: number | undefined; readonly maxRecordBytes?: number } = {},
): CapResult => {
  const { maxResultBytes = MAX_RESULT_BYTES } = limits;
  const maxRecordBytes = Math.min(MAX_RECORD_BYTES, limits.maxRecordBytes ?? MAX_RECORD_BYTES);
  let bytes = bytesOf(earlier);
  const toKept = (result: string): string => {
    const size = Buffer.byteLength(result);
    if (size > maxResultBytes) return withoutValue(result, resultTooLarge(maxResultBytes));
    return bytes + size > maxRecordBytes ? withoutValue(result, recordTooLarge(maxRecordBytes)) : result;
  };
  return (result) => {
    const kept = toKept(result);
    bytes += Buffer.byteLength(kept);
    return kept;
  };
};

export const bytesOf = (results: Iterable<string>): number => {
  let bytes = 0;
  for (const result of results) bytes += Buffer.byteLength(result);
  return bytes;
};

const Told = z.object({ message: z.string().default(''), warnings: z.array(z.unknown()).default([]) });

const withoutValue = (text: string, why: string): string => {
  const result = parseObject(text) ?? {};
  const told = Told.parse(result);
  const warnings = [...told.warnings, { code: 'result_not_kept', message: why }];
  return JSON.stringify({ ...result, value: null, message: cutMessage(told.message), truncated: true, warnings });
};

const cutMessage = (message: string): string =>
  message.length <= MAX_MESSAGE_LENGTH ? message : `${message.slice(0, MAX_MESSAGE_LENGTH - 1).toWellFormed()}…`;

/**
 * What a store gave, where it is the text of a JSON object and nothing after it; else null: as a result it would spoil
 * the answer around it.
 */
export const parseObject = (text: string): object | null => {
  if (!text.endsWith('}')) return null;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' ? value : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
};
