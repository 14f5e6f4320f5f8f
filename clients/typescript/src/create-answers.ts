import { toLostText, toNotRunText, toSettledText, toStillPendingText } from './answer-texts.ts';
import type { Answer, Execute, ExecuteOptions, MessagesAnswer } from './create-execute.ts';
import { toCallKey, toTurnKey } from './derive-key.ts';
import type { MessageOf } from './message-formats.ts';
import { type MessageCall, readCalls } from './read-calls.ts';
import { RecourseError } from './recourse-error.ts';
import { createUnsettledCalls, type UnsettledCalls } from './unsettled-calls.ts';
import type { ToolResult } from './wire.ts';
import { type AnsweredCall, type ConversationFormat, writeAnswers } from './write-answers.ts';

/** One call as a runtime hands it over. */
export type ModelCall = {
  /** The model's; one is made where it is missing or empty. */
  readonly id?: string | number | null | undefined;
  readonly name: string;
  /** An object, or the text that the model wrote. */
  readonly arguments?: unknown;
};

type AnswerOptions = Omit<
  ExecuteOptions,
  'sessionId' | 'idempotencyKey' | 'requestId' | 'order' | 'onError' | 'dryRun'
>;

export type AnswerCallOptions = Omit<AnswerOptions, 'respondAsync'>;

/** What the model reads of one call. */
export type CallAnswer = {
  readonly text: string;
  readonly isError: boolean;
  /** null where none came. */
  readonly result: ToolResult | null;
};

export type AnswerMessageOptions<Format extends ConversationFormat> = Omit<AnswerOptions, 'roundId'> & {
  readonly format: Format;
  /** Stands for this message and no other of the session, such as the length of the conversation: its key is made of it. */
  readonly turn: string | number;
};

export type MessageAnswer<Format extends ConversationFormat> = {
  /** What to append to the conversation: each call has its answer. */
  readonly messages: MessageOf[Format][];
  /** Those that came. */
  readonly results: readonly ToolResult[];
  /** Requests with calls that have not ended, for `results(requestId)`; only with `respondAsync`. */
  readonly pending: readonly string[];
};

/**
 * Execution for loops that must go on: what a model reads comes back whatever happened to a request. Each request has an
 * Idempotency-Key made of session, call id and round, or of session and turn, and is sent again once if its answer is lost. After that the
 * model reads that the call may have happened; if it makes the same call again, the lost request is sent once more under its
 * old key, so that nothing runs twice. Rejects with a RecourseError where the service refuses a request (400, 401, 403 …),
 * which no model can mend.
 */
export type Answers = {
  /** One call. `roundId` is the same for all calls of a model's step, and no other step's of the session. */
  readonly answerCall: (call: ModelCall, options?: AnswerCallOptions) => Promise<CallAnswer>;
  /** All calls of a message, as its provider's API gave it. */
  readonly answerMessage: <Format extends ConversationFormat>(
    message: unknown,
    options: AnswerMessageOptions<Format>,
  ) => Promise<MessageAnswer<Format>>;
};

/** A request as it is sent, the same to the byte each time. */
type Request<Format extends ConversationFormat> = {
  readonly input: unknown;
  readonly options: ExecuteOptions & { readonly format: Format };
};

/** The place of a call in a request whose answer was lost. */
type Unsettled = { readonly request: Request<ConversationFormat>; readonly place: number };

type OneAnswer = CallAnswer & { readonly pending: readonly string[] };

/** `execute` is that of the session. */
export const createAnswers = (execute: Execute, sessionId: string): Answers => {
  const session = { execute, sessionId, unsettled: createUnsettledCalls<Unsettled>() };
  return {
    answerCall: async (call, options = {}) => {
      const { text, isError, result } = await answerOne(session, call, options);
      return { text, isError, result };
    },
    answerMessage: async (message, { turn, ...options }) => {
      const calls = readCalls(message);
      const idempotencyKey = await toTurnKey(sessionId, turn);
      if (!calls.some(session.unsettled.has)) return answerAll(session, message, { ...options, idempotencyKey }, calls);
      // The lost request and what is new are asked for by themselves.
      const { format, ...ofOne } = options;
      const answers = calls.map(async (call) => ({
        call,
        ...(await answerOne(session, call, { ...ofOne, roundId: idempotencyKey })),
      }));
      return toMessageAnswer(format, await Promise.all(answers));
    },
  };
};

type Session = {
  readonly execute: Execute;
  readonly sessionId: string;
  readonly unsettled: UnsettledCalls<Unsettled>;
};

const answerOne = async (session: Session, call: ModelCall, options: AnswerOptions): Promise<OneAnswer> => {
  const lost = session.unsettled.take(call);
  const { request, place } = lost ?? { request: await toCallRequest(session, call, options), place: 0 };
  const remember = () => session.unsettled.add(call, { request, place });
  try {
    const answer = await session.execute(request.input, { ...request.options, signal: options.signal });
    const told = toCallAnswer(answer, place);
    const text = lost !== null && answer.replayed ? toSettledText(call.name, told.text) : told.text;
    return { ...told, text, pending: toPending(answer) };
  } catch (error) {
    // Nothing that becomes of a repeat says that the lost request did not run.
    const isUncertain = lost !== null || mayHaveRun(error, options.signal);
    if (isUncertain) remember();
    return toErrorAnswer(error, call.name, isUncertain);
  }
};

const toCallRequest = async (
  { sessionId }: Session,
  { id, name, arguments: given }: ModelCall,
  { signal: _, ...options }: AnswerOptions,
): Promise<Request<'openai-chat'>> => {
  const own = id === undefined || id === null || id === '' ? crypto.randomUUID() : String(id);
  // Some servers count ids anew in every message.
  const distinct = options.roundId === undefined ? own : `${own} ${options.roundId}`;
  const idempotencyKey = await toCallKey(sessionId, distinct);
  const text = typeof given === 'string' ? given : JSON.stringify(given ?? {});
  return {
    input: [{ id: own, type: 'function', function: { name, arguments: text } }],
    options: { ...options, format: 'openai-chat', idempotencyKey, requestId: crypto.randomUUID() },
  };
};

const answerAll = async <Format extends ConversationFormat>(
  { execute, unsettled }: Session,
  input: unknown,
  { signal, ...others }: Request<Format>['options'],
  calls: readonly MessageCall[],
): Promise<MessageAnswer<Format>> => {
  const options = { ...others, requestId: crypto.randomUUID() };
  try {
    const answer = await execute(input, { ...options, signal });
    return { messages: answer.messages, results: answer.results, pending: toPending(answer) };
  } catch (error) {
    const isUncertain = mayHaveRun(error, signal);
    if (isUncertain)
      for (const [place, call] of calls.entries()) unsettled.add(call, { request: { input, options }, place });
    // A message that is not understood here cannot be answered here.
    if (calls.length === 0) throw error;
    const answers = calls.map((call) => ({ call, ...toErrorAnswer(error, call.name, isUncertain) }));
    return toMessageAnswer(options.format, answers);
  }
};

const toPending = ({ status, requestId }: Answer): readonly string[] => (status === 'pending' ? [requestId] : []);

const toMessageAnswer = <Format extends ConversationFormat>(
  format: Format,
  answers: readonly (AnsweredCall & OneAnswer)[],
): MessageAnswer<Format> => ({
  messages: writeAnswers(format, answers),
  results: answers.flatMap(({ result }) => (result === null ? [] : [result])),
  pending: [...new Set(answers.flatMap(({ pending }) => pending))],
});

/** Whether the calls of a failed request may have run. What a signal ended may have been sent. */
const mayHaveRun = (error: unknown, signal: AbortSignal | undefined): boolean =>
  error instanceof RecourseError ? error.mayHaveRun : signal?.aborted === true;

/** What the model reads; throws what no model can mend. */
const toErrorAnswer = (error: unknown, tool: string, isUncertain: boolean): OneAnswer => {
  if (!isForModel(error)) throw error;
  const nothing = { result: null, pending: [] };
  if (error.code === 'still_pending') return { ...nothing, text: toStillPendingText(tool), isError: false };
  const text = isUncertain ? toLostText(tool) : toNotRunText(tool, error.problem?.detail ?? UNREACHED);
  return { ...nothing, text, isError: true };
};

const UNREACHED = 'The tool service cannot be reached.';

// The service has no room, is stopping or cannot be reached, or the arguments are too long: a model can wait, or do without.
const isForModel = (error: unknown): error is RecourseError =>
  error instanceof RecourseError &&
  (error.mayHaveRun || error.status === null || [408, 413, 429, 503].includes(error.status));

const toCallAnswer = ({ results, messages }: MessagesAnswer<ConversationFormat>, place: number): CallAnswer => {
  const result = results[place];
  if (result === undefined) return { text: NO_RESULT, isError: true, result: null };
  const message = messages[place];
  const content = message !== undefined && 'content' in message ? message.content : null;
  const text = typeof content === 'string' ? content : toResultText(result);
  return { text, isError: !result.success && result.outcome !== 'pending', result };
};

const NO_RESULT = 'ERROR: internal_error: The service has no result for this call. It may or may not have run.';

/** What a model reads of a result that came for another message, where the service has not written it as a text. */
const toResultText = ({ success, outcome, error, message, value }: ToolResult): string => {
  if (outcome === 'pending') return message;
  if (!success) return `ERROR: ${error?.code ?? 'internal_error'}: ${message}`;
  const written = typeof value === 'string' ? value : JSON.stringify(value ?? '');
  const lines = [message, written.slice(0, MAX_VALUE_LENGTH)].filter((line) => line.trim() !== '' && line !== '""');
  return lines.length === 0 ? 'The tool succeeded and returned nothing.' : lines.join('\n');
};

// A picture in base64 is not for a model to read.
const MAX_VALUE_LENGTH = 20_000;
