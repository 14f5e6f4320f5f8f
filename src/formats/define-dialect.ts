import type { MessageFormat } from '../contract/message-format.ts';
import { detectFormat, isNative } from './detect-format.ts';
import type { Dialect, ParsedTurn, ReadAnswer, TurnCall } from './dialect.ts';
import type { Part } from './media.ts';
import { toTold } from './observation.ts';
import type { ObservedResult } from './observed-result.ts';

/** A call as the provider's body has it. */
export type AskedCall = {
  /** What the answer is matched by: as asked, "" where the body has none that could be. */
  readonly id: string | number;
  readonly name: string | null;
  /** The entry of `calls`. */
  readonly call: unknown;
};

/** What one asked call came to. */
export type Answer<Call extends AskedCall = AskedCall> = {
  readonly asked: Call;
  readonly success: boolean;
  /** What a model reads, never blank. */
  readonly text: string;
  /** The same with its media, for who can show them; null where there are none. */
  readonly parts: readonly Part[] | null;
  /** null where the executor gave none, which would be a bug: the call is answered all the same. */
  readonly result: ObservedResult | null;
};

export type DialectParts<Call extends AskedCall> = {
  readonly format: MessageFormat;
  /** The calls of a body that is no native envelope, in order; null where it is not this dialect's. */
  readonly readCalls: (body: unknown) => readonly Call[] | null;
  /** Never asked for no answers. */
  readonly writeAnswers: (answers: readonly Answer<Call>[]) => readonly unknown[];
  readonly writeTurn: (calls: readonly TurnCall[]) => unknown;
  readonly readMessage: (message: unknown) => readonly ReadAnswer[];
  /** Where the provider wants more than the list of messages. */
  readonly toRaw?: (messages: readonly unknown[]) => unknown;
};

/** Makes a dialect whose answers carry the ids and names that were asked, one answer a call, whatever the results are. */
export const defineDialect = <Call extends AskedCall>(parts: DialectParts<Call>): Dialect => ({
  format: parts.format,
  detects: (body) => detectFormat(body) === parts.format,
  parse: (body) => {
    const asked = isNative(body) ? null : parts.readCalls(body);
    return asked === null ? null : toTurn(asked, parts.writeAnswers);
  },
  toRaw: parts.toRaw ?? ((messages) => messages),
  writeTurn: parts.writeTurn,
  readMessages: (messages) => messages.flatMap(parts.readMessage),
});

/** The calls, and how their results are told. */
export const toTurn = <Call extends AskedCall>(
  asked: readonly Call[],
  writeAnswers: (answers: readonly Answer<Call>[]) => readonly unknown[],
): ParsedTurn => ({
  calls: asked.map(({ call }) => call),
  toMessages: (results) =>
    asked.length === 0 ? [] : writeAnswers(asked.map((call, index) => toAnswer(call, results[index]))),
});

const toAnswer = <Call extends AskedCall>(asked: Call, result: ObservedResult | undefined): Answer<Call> => {
  if (result === undefined) return { asked, success: false, text: NO_RESULT_TEXT, parts: null, result: null };
  const { text, parts } = toTold(result);
  return { asked, success: result.success, text, parts, result };
};

const NO_RESULT_TEXT =
  'ERROR: internal_error: The service has no result for this call, which is not your fault. It may or may not have run. Check before calling it again.';
