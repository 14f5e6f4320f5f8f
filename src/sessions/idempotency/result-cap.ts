import * as z from 'zod';
import { parseJson } from '../../json/parse-json.ts';

/** How long a batch that does not renew its lease holds its record; it renews it every 1.5 s, so that two renewals may be lost. */
export const LEASE_MS = 5000;
/** How long a record is kept after it was opened or committed. */
export const RECORD_TTL_MS = 24 * 60 * 60 * 1000;

// A result text beyond this is kept without its value. In bytes of UTF-8, like all sizes here.
const MAX_RESULT_BYTES = 256 * 1024;
// What the results of one record may come to together.
const MAX_RECORD_BYTES = 4 * 1024 * 1024;
// As long as a failure's message may be: what a tool says beside a value can be as large as the value.
const MAX_MESSAGE_LENGTH = 2000;

const NOT_KEPT = 'not stored; the call ran and is not run again.';
const recordTooLarge = (bytes: number): string =>
  `The results of this batch were larger than ${bytes} bytes, and this one was ${NOT_KEPT}`;
const NO_ROOM = `The store had no room for the result, and it was ${NOT_KEPT}`;
const resultTooLarge = (bytes: number): string => `The result was larger than ${bytes} bytes and was ${NOT_KEPT}`;

export type ResultLimits = {
  readonly maxResultBytes?: number | undefined;
  readonly maxRecordBytes?: number | undefined;
};

/**
 * What the record keeps of a result: all results within the record's size, of which other ones have used `usedBytes`. A result
 * that is too large stays what it was, success or not, with a null value, `truncated` and a warning; id and name, the caller's own
 * words, stay too.
 */
export const capResult = (
  result: string,
  usedBytes: number,
  { maxResultBytes = MAX_RESULT_BYTES, maxRecordBytes = MAX_RECORD_BYTES }: ResultLimits,
): string => {
  const most = Math.min(MAX_RECORD_BYTES, maxRecordBytes);
  const size = Buffer.byteLength(result);
  if (size > maxResultBytes) return withoutValue(result, resultTooLarge(maxResultBytes));
  return usedBytes + size > most ? withoutValue(result, recordTooLarge(most)) : result;
};

/** What is kept of a result that the store has no room for: all but its value. */
export const withoutRoom = (result: string): string => withoutValue(result, NO_ROOM);

const Texts = z.object({ message: z.string().default(''), warnings: z.array(z.unknown()).default([]) });

const withoutValue = (text: string, why: string): string => {
  const result = parseObject(text) ?? {};
  const { message, warnings: before } = Texts.parse(result);
  const warnings = [...before, { code: 'result_not_kept', message: why }];
  return JSON.stringify({ ...result, value: null, message: cutMessage(message), truncated: true, warnings });
};

const cutMessage = (message: string): string =>
  message.length <= MAX_MESSAGE_LENGTH ? message : `${message.slice(0, MAX_MESSAGE_LENGTH - 1).toWellFormed()}…`;

/**
 * What a store gave, where it is the text of a JSON object and nothing after it; else null: as a result it would spoil
 * the answer around it.
 */
export const parseObject = (text: string): object | null => {
  const parsed = text.endsWith('}') ? parseJson(text) : null;
  return parsed?.ok === true && typeof parsed.value === 'object' ? parsed.value : null;
};

/** All results of a batch in the order of its calls; null where one is missing. */
export const readResults = (
  calls: number,
  find: (index: number) => string | null | undefined,
): readonly string[] | null => {
  const results: string[] = [];
  for (let index = 0; index < calls; index += 1) {
    const result = find(index);
    if (typeof result !== 'string') return null;
    results.push(result);
  }
  return results;
};
