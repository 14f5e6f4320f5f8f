import { isRecord, type JsonRecord, memberOf } from 'recourse-server/contract/json-record';
import type { MessageFormat } from 'recourse-server/contract/message-format';
import { isLongId, readCallName } from 'recourse-server/contract/tool-call';
import type { Dialect, ObservedResult, ParsedMessage } from 'recourse-server/routes/dialects';
import { formatOfCall, formatsIn, formatsOfCalls, isNative } from './detect-format.ts';
import type { Part } from './media.ts';
import { hasFailed, observe } from './observation.ts';

/** A call as the provider's body has it. */
export type ProviderCall = {
  /** What the answer is matched by: as the body has it, "" where it has none that could be, or one that is too long. */
  readonly id: string | number;
  readonly name: string | null;
  /** The entry of `calls`. */
  readonly entry: unknown;
};

/** Reads one call. `written: 'freely'`: the arguments are a free text and no JSON. */
export const readProviderCall = (id: unknown, name: unknown, args: unknown, written?: 'freely'): ProviderCall => ({
  id: (typeof id === 'string' && !isLongId(id)) || typeof id === 'number' ? id : '',
  name: readCallName(name),
  entry: { id, name, arguments: args, ...(written === undefined ? {} : { written }) },
});

/** What stands in the place of a call and is none: a call that fails. */
export const createBrokenCall = (entry: unknown): ProviderCall => ({ id: '', name: null, entry });

/** What one call came to. */
export type Answer<Call extends ProviderCall = ProviderCall> = {
  readonly call: Call;
  /** Whether it is flagged as an error. A pending call is not, for models repeat a call that they read as failed; nor one of a dry run. */
  readonly failed: boolean;
  /** What a model reads, never blank. */
  readonly text: string;
  /** The same with its media, for models that look at them; null where there are none. */
  readonly parts: readonly Part[] | null;
  /** null where the executor gave none, which would be a bug: the call is answered all the same. */
  readonly result: ObservedResult | null;
};

/** The calls of a body, in order, and the entries of all lists that they stand in. */
export type FoundCalls<Call extends ProviderCall = ProviderCall> = {
  readonly entries: readonly unknown[];
  readonly calls: readonly Call[];
};

export const NO_CALLS = { entries: [], calls: [] } as const;

/** The calls of one list. */
export const foundIn = <Call extends ProviderCall>(
  entries: readonly unknown[],
  toCalls: (entry: unknown) => readonly Call[],
): FoundCalls<Call> => ({ entries, calls: entries.flatMap(toCalls) });

type DialectParts<Call extends ProviderCall> = {
  readonly format: MessageFormat;
  /** Whether an object that is no native envelope is this provider's, whatever calls it holds; lists are told by their entries. */
  readonly marks: (body: JsonRecord) => boolean;
  /** How an entry of a list is spelled that is a call of this dialect, as `spellingOf` says it. */
  readonly reads: readonly MessageFormat[];
  /** The calls of a body that is no native envelope; null where it is not this dialect's. */
  readonly readCalls: (body: unknown) => FoundCalls<Call> | null;
  /** Never called without answers. */
  readonly writeAnswers: (answers: readonly Answer<Call>[]) => readonly unknown[];
  /** Where the provider wants more than the list of messages. */
  readonly toRaw?: Dialect['toRaw'];
};

/** Makes a dialect whose answers carry the ids and names of its calls, one answer a call, whatever the results are. */
export const defineDialect = <Call extends ProviderCall>(parts: DialectParts<Call>): Dialect => {
  const parse: Dialect['parse'] = (body) => {
    const found = isNative(body) ? null : parts.readCalls(body);
    return found === null || missesCalls(found, body, parts.reads)
      ? null
      : createMessageOf(found.calls, parts.writeAnswers);
  };
  return {
    format: parts.format,
    marks: parts.marks,
    parse,
    toRaw: parts.toRaw ?? ((messages) => messages),
  };
};

/**
 * Whether the body holds calls that would get no answer: entries of another format among those that were read, or, where
 * none was read that has a name, calls anywhere else.
 */
const missesCalls = ({ entries, calls }: FoundCalls, body: unknown, spellings: readonly MessageFormat[]): boolean => {
  const among = formatsOfCalls(entries);
  if (among.some((format) => !spellings.includes(format))) return true;
  return among.length === 0 && calls.every(({ name }) => name === null) && formatsIn(body).length > 0;
};

/** The calls, and how their results are written. */
export const createMessageOf = <Call extends ProviderCall>(
  calls: readonly Call[],
  writeAnswers: (answers: readonly Answer<Call>[]) => readonly unknown[],
): ParsedMessage => ({
  calls: calls.map(({ entry }) => entry),
  toMessages: (results) =>
    calls.length === 0 ? [] : writeAnswers(calls.map((call, index) => createAnswer(call, results[index]))),
});

const createAnswer = <Call extends ProviderCall>(call: Call, result: ObservedResult | undefined): Answer<Call> => {
  if (result === undefined) return { call, failed: true, text: NO_RESULT_TEXT, parts: null, result: null };
  return { call, failed: hasFailed(result), ...observe(result), result };
};

const NO_RESULT_TEXT =
  'ERROR: internal_error: The service has no result for this call, which is not your fault. It may or may not have run. Check before calling it again.';

/** A call whose arguments were lost must not run with {}: an unfinished object is what they amount to. */
export const LOST_ARGUMENTS = '{';

/** The same call without its arguments, which fails as one whose arguments are no JSON. */
export const withoutArguments = <Call extends ProviderCall>(call: Call): Call => {
  const { entry } = call;
  if (!isRecord(entry)) return call;
  return { ...call, entry: { id: entry['id'], name: entry['name'], arguments: LOST_ARGUMENTS } };
};

/**
 * The calls of a turn, of which the last has lost its arguments where the provider cut the turn off in it: they are blank
 * then, or as many as an SDK made of the piece. `holder` is what says why the turn ended.
 */
export const withoutCutOff = <Call extends ProviderCall>(
  found: FoundCalls<Call> | null,
  holder: unknown,
): FoundCalls<Call> | null => {
  const last = found?.calls.at(-1);
  if (found === null || last === undefined || !wasCut(holder) || !isUnfinished(last.entry)) return found;
  const { entries, calls } = found;
  // What comes after a call shows that the call was whole, as an item of OpenAI says of itself.
  const end = entries.at(-1);
  if (entries.length > 0 && (formatOfCall(end) === null || memberOf(end, 'status') === 'completed')) return found;
  return { entries, calls: [...calls.slice(0, -1), withoutArguments(last)] };
};

const wasCut = (holder: unknown): boolean =>
  REASONS.some((key) => {
    const reason = memberOf(holder, key);
    return typeof reason === 'string' && CUT.has(reason.toLowerCase());
  });

// How the providers name the reason, and the reasons for which they stop in the middle of a call.
const REASONS = ['finish_reason', 'finishReason', 'stop_reason', 'stopReason', 'done_reason', 'status'];
const CUT: ReadonlySet<string> = new Set([
  ...['length', 'max_tokens', 'model_length', 'model_context_window_exceeded', 'content_filter', 'refusal'],
  ...['error', 'incomplete', 'cancelled', 'failed'],
]);

// Of a free text, nothing shows whether it is whole.
const isUnfinished = (entry: unknown): boolean => {
  const args = memberOf(entry, 'arguments') ?? '';
  if (typeof args === 'string') return memberOf(entry, 'written') === 'freely' || /^\s*(?:\{\s*\})?\s*$/.test(args);
  return isRecord(args) && Object.keys(args).length === 0;
};
