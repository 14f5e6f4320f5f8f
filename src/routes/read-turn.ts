import type * as z from 'zod';
import { MESSAGE_FORMATS, type MessageFormat } from '../contract/message-format.ts';
import { ToolCallsRequest } from '../contract/tool-call.ts';
import type { Warning } from '../contract/tool-result.ts';
import type { ProviderHabit } from '../executor/provider-calls.ts';
import type { Dialect, ParsedTurn } from '../formats/dialect.ts';
import { DIALECTS, detectDialect } from '../formats/dialects.ts';
import { spellingsIn } from '../formats/spelling.ts';
import { findMisspelledMembers } from './misspelled-members.ts';
import { ProblemError } from './problem-handler.ts';
import { type Members, readPlainEnvelope } from './read-envelope.ts';
import { refuseFormat } from './unknown-format.ts';

/** How the calls came, and so how they are answered. */
export type TurnDialect = Pick<Dialect, 'format' | 'toRaw'> &
  Pick<ParsedTurn, 'toMessages'> & {
    /** `messages`: nothing but what the conversation goes on with. */
    readonly answer: 'results and messages' | 'messages';
    /** What its provider's models make of names and arguments; null where they are taken as they stand. */
    readonly habit: ProviderHabit | null;
  };

export type Turn = {
  readonly envelope: ToolCallsRequest;
  /** null for the service's own envelope. */
  readonly dialect: TurnDialect | null;
  /** Of members that are not known, and near one that is. */
  readonly warnings: readonly Warning[];
};

// What the query may say instead of the body; for a body that is posted as a provider sent it.
const ENVELOPE_MEMBERS = ['session_id', 'round_id', 'order', 'on_error', 'deadline_ms'] as const;

/** Reads a body of any format, with what the query says of it; a ProblemError where that cannot be. */
export const readTurn = (body: unknown, query: unknown): Turn => {
  const asked = toMembers(query);
  const members = toMembers(body);
  const plain = Object.keys(asked).length === 0 ? readPlainEnvelope(members) : null;
  if (plain === null) return readAnyTurn(body, members, asked);
  return { envelope: plain, dialect: null, warnings: findMisspelledMembers(members, 'envelope') };
};

const readAnyTurn = (body: unknown, members: Members, asked: Members): Turn => {
  const format = toFormat(asked['format'] ?? members['format']);
  const answer = toAnswer(asked['raw'] ?? members['raw']);
  const said = pickEnvelope(members, toTyped(asked));
  const dialect = findDialect(format, body, members);
  const ofQuery = findMisspelledMembers(asked, 'query');
  const isOwn = dialect === null || dialect.format === 'text' || dialect.format === 'native';
  const warnings = [...ofQuery, ...findMisspelledMembers(members, isOwn ? 'envelope' : 'message')];
  if (dialect === null) return { envelope: readNative(body, said), dialect: null, warnings };
  refuseNativeCalls(members);
  const turn = dialect.parse(body);
  if (turn === null) throw refuseEnvelope(toMismatch(dialect.format, body));
  return {
    envelope: readEnvelope({ ...said, calls: turn.calls }),
    dialect: {
      format: dialect.format,
      toRaw: dialect.toRaw,
      toMessages: turn.toMessages,
      answer,
      habit: HABITS[dialect.format],
    },
    warnings,
  };
};

// A strict model of OpenAI's names every property, and so do models that were taught by its answers. LangChain, the AI SDK and
// Vapi hand its calls on; Anthropic's, Bedrock's and Gemini's may leave properties out. Who writes the envelope itself knows the names.
const HABITS = {
  native: null,
  'openai-chat': 'strict',
  'openai-responses': 'strict',
  'openai-realtime': 'strict',
  anthropic: 'plain',
  gemini: 'plain',
  bedrock: 'plain',
  mistral: 'strict',
  cohere: 'strict',
  ollama: 'strict',
  'ai-sdk': 'strict',
  vapi: 'strict',
  langchain: 'strict',
  text: null,
} as const satisfies Readonly<Record<MessageFormat, ProviderHabit | null>>;

const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const toMembers = (value: unknown): Members => (isMembers(value) ? value : NONE);
const NONE: Members = {};

const toFormat = (given: unknown): MessageFormat | null => {
  if (given === undefined || given === null) return null;
  const format = MESSAGE_FORMATS.find((name) => name === given);
  if (format !== undefined) return format;
  throw refuseFormat(given, MESSAGE_FORMATS);
};

const toAnswer = (raw: unknown): TurnDialect['answer'] => {
  if (raw === true || raw === 'true') return 'messages';
  if (raw === undefined || raw === null || raw === false || raw === 'false') return 'results and messages';
  throw refuseEnvelope('raw: must be true or false');
};

// The query has nothing but text.
const toTyped = (query: Members): Members => {
  const { deadline_ms: deadline } = query;
  const isNumber = typeof deadline === 'string' && deadline.trim() !== '' && !Number.isNaN(Number(deadline));
  return isNumber ? { ...query, deadline_ms: Number(deadline) } : query;
};

// The query wins.
const pickEnvelope = (members: Members, asked: Members): Members => {
  const said: Record<string, unknown> = {};
  for (const name of ENVELOPE_MEMBERS) {
    if (Object.hasOwn(asked, name)) said[name] = asked[name];
    else if (Object.hasOwn(members, name)) said[name] = members[name];
  }
  return said;
};

const findDialect = (format: MessageFormat | null, body: unknown, members: Members): Dialect | null => {
  if (format !== null) return DIALECTS.get(format) ?? null;
  return Object.hasOwn(members, 'calls') ? null : detectDialect(body);
};

const readNative = (body: unknown, said: Members): ToolCallsRequest => {
  const parsed = ToolCallsRequest.safeParse(isMembers(body) ? { ...body, ...said } : body);
  if (parsed.success) return parsed.data;
  const detail = toDetail(parsed.error.issues);
  const members = toMembers(body);
  if (Object.hasOwn(members, 'calls')) throw refuseEnvelope(`${detail}${toListHint(members['calls'])}`);
  throw refuseEnvelope(toUntold(body) ?? `${detail}.${toCallsHint(members)} ${ACCEPTED_SHAPES}`);
};

const isOwnCall = (value: unknown): boolean => {
  const { name, function: inner, type } = toMembers(value);
  return typeof name === 'string' && inner === undefined && type === undefined;
};

const toListHint = (calls: unknown): string => (isOwnCall(calls) ? '. Write a list: {"calls": [{…}]}' : '');

/** What was meant by a body without `calls`: a single call, or a list under another name. */
const toCallsHint = (members: Members): string => {
  if (isOwnCall(members)) return ' The body is a call: put it into a list, {"calls": [{…}]}.';
  const [misspelled] = Object.keys(members)
    .slice(0, 16)
    .filter((name) => Array.isArray(members[name]));
  const isNear = misspelled !== undefined && findMisspelledMembers({ [misspelled]: null }, 'envelope').length > 0;
  return isNear ? ` Did you mean 'calls' by '${misspelled}'?` : '';
};

// Read as OpenAI's they would have no name each, and their senders would be told to write what they have written.
const refuseNativeCalls = ({ tool_calls: calls }: Members): void => {
  if (
    Array.isArray(calls) &&
    calls.length > 0 &&
    calls.every((call) => isOwnCall(call) && Object.hasOwn(call, 'arguments'))
  )
    throw refuseEnvelope('tool_calls: holds calls of this service\'s own form. Name the list calls: {"calls": [{…}]}');
};

const readEnvelope = (envelope: Members): ToolCallsRequest => {
  const parsed = ToolCallsRequest.safeParse(envelope);
  if (parsed.success) return parsed.data;
  throw refuseEnvelope(toDetail(parsed.error.issues));
};

const refuseEnvelope = (detail: string): ProblemError => new ProblemError(400, 'invalid_envelope', detail);

const toDetail = (issues: readonly z.core.$ZodIssue[]): string =>
  issues.map(({ path, message }) => (path.length === 0 ? message : `${path.join('.')}: ${message}`)).join('; ');

const SHAPES = {
  native: 'an object with calls',
  'openai-chat': 'a tool_calls array, the assistant message that holds it, or the whole completion',
  'openai-responses': 'function_call items with a call_id, or the whole response',
  anthropic: 'tool_use blocks, the assistant message that holds them, or the whole response',
  'openai-realtime': 'the event response.done, its response, or the function_call items of its output',
  gemini: 'functionCall parts, the content that holds them, the whole response, or the list of responses of a stream',
  bedrock: 'toolUse blocks, the message that holds them, or the whole response of Converse',
  mistral: 'toolCalls, the message that holds them, or the whole response',
  cohere: 'toolCalls, the message that holds them, or the whole response of version 2',
  ollama: 'tool_calls, the message that holds them, or the whole response of /api/chat',
  'ai-sdk': 'tool-call parts, the message that holds them, or the messages of a response',
  vapi: 'the tool-calls message of the server URL',
  langchain: 'an AI message with tool_calls, or those alone',
  text: 'an object with calls',
} as const satisfies Readonly<Record<MessageFormat, string>>;

const PROVIDERS = MESSAGE_FORMATS.filter((format) => SHAPES[format] !== SHAPES.native);
const ACCEPTED_SHAPES = `Send ${SHAPES.native}, or the message of a model as it is (${PROVIDERS.join(', ')}).`;

const toMismatch = (format: MessageFormat, body: unknown): string => {
  const found = spellingsIn(body);
  const readers = findReaders(body, found).filter((reader) => reader !== format);
  const isNot = `The body is not of the format ${format}`;
  if (readers.length > 0)
    return `${isNot}: it holds calls of the format ${readers.join(' or ')}. Send it with format=${readers.join(' or format=')}.`;
  if (found.length > 0)
    return `${isNot}: it holds calls of the format ${found.join(' and ')}${NOT_READ}. Send ${SHAPES[format]}.`;
  // What is wrong with the service's own envelope can be said in its own words.
  const parsed = SHAPES[format] === SHAPES.native ? ToolCallsRequest.safeParse(body) : null;
  if (parsed?.success === false) return toDetail(parsed.error.issues);
  return `${isNot}. Send ${SHAPES[format]}.`;
};

/** The same for a body whose format was not named; null where it holds no calls of any format. */
const toUntold = (body: unknown): string | null => {
  const found = spellingsIn(body);
  if (found.length === 0) return null;
  const readers = findReaders(body, found);
  return readers.length === 0
    ? `The body holds calls of the format ${found.join(' and ')}${NOT_READ}. ${ACCEPTED_SHAPES}`
    : `The body holds calls that could be of the format ${readers.join(' or ')}. Name it: format=${readers.join(' or format=')}.`;
};

const NOT_READ =
  ' where they are not read: in the pieces of a stream, in a list of messages, or beside those of another format';

const findReaders = (body: unknown, found: readonly MessageFormat[]): readonly MessageFormat[] => {
  const detected = detectDialect(body)?.format;
  const formats = new Set(detected === undefined ? found : [detected, ...found]);
  return [...formats].filter((format) => (DIALECTS.get(format)?.parse(body) ?? null) !== null);
};
