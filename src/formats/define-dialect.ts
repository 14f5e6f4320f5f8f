import type { MessageFormat } from '../contract/message-format.ts';
import { detectFormat, isNative } from './detect-format.ts';
import type { Dialect, ParsedTurn, ReadAnswer, TurnCall } from './dialect.ts';
import type { Part } from './media.ts';
import { toTold } from './observation.ts';
import type { ObservedResult } from './observed-result.ts';
import { spellingsIn, spellingsOf } from './spelling.ts';

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

/** The calls of a body, in order, and the entries of all lists that they stand in. */
export type FoundCalls<Call extends AskedCall> = {
  readonly entries: readonly unknown[];
  readonly calls: readonly Call[];
};

/** The calls of one list. */
export const foundIn = <Call extends AskedCall>(
  entries: readonly unknown[],
  toCalls: (entry: unknown) => readonly Call[],
): FoundCalls<Call> => ({ entries, calls: entries.flatMap(toCalls) });

export type DialectParts<Call extends AskedCall> = {
  readonly format: MessageFormat;
  /** How an entry of a list is spelled that is a call of this dialect, as `spellingOf` says it. */
  readonly spellings: readonly MessageFormat[];
  /** The calls of a body that is no native envelope; null where it is not this dialect's. */
  readonly readCalls: (body: unknown) => FoundCalls<Call> | null;
  /** Never asked for no answers. */
  readonly writeAnswers: (answers: readonly Answer<Call>[]) => readonly unknown[];
  readonly writeTurn: (calls: readonly TurnCall[]) => unknown;
  readonly readMessage: (message: unknown) => readonly ReadAnswer[];
  /** Where the provider wants more than the list of messages. */
  readonly toRaw?: (messages: readonly unknown[]) => unknown;
};

/** Makes a dialect whose answers carry the ids and names that were asked, one answer a call, whatever the results are. */
export const defineDialect = <Call extends AskedCall>(parts: DialectParts<Call>): Dialect => {
  const parse = (body: unknown): ParsedTurn | null => {
    const found = isNative(body) ? null : parts.readCalls(body);
    return found === null || missesCalls(found, body, parts.spellings) ? null : toTurn(found.calls, parts.writeAnswers);
  };
  return {
    format: parts.format,
    detects: (body) => detectFormat(body) === parts.format && parse(body) !== null,
    parse,
    toRaw: parts.toRaw ?? ((messages) => messages),
    writeTurn: parts.writeTurn,
    readMessages: (messages) => messages.flatMap(parts.readMessage),
  };
};

/**
 * Whether the body holds calls that would get no answer: entries of another format among those that were read, or, where
 * none was read that has a name, calls anywhere else.
 */
const missesCalls = (
  { entries, calls }: FoundCalls<AskedCall>,
  body: unknown,
  spellings: readonly MessageFormat[],
): boolean => {
  const among = spellingsOf(entries);
  if (among.some((format) => !spellings.includes(format))) return true;
  return among.length === 0 && calls.every(({ name }) => name === null) && spellingsIn(body).length > 0;
};

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
