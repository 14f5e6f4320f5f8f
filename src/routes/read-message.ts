import type * as z from 'zod';
import { isRecord } from '../contract/json-record.ts';
import { MESSAGE_FORMATS, type MessageFormat } from '../contract/message-format.ts';
import { MAX_ENVELOPE_CALLS, ToolCallsRequest } from '../contract/tool-call.ts';
import type { Warning } from '../contract/tool-result.ts';
import type { Dialect, Dialects, ParsedMessage, SchemaMode } from './dialects.ts';
import { findMisspelledMembers, refuseFormat } from './misspellings.ts';
import { ProblemError } from './problems.ts';

/** What a request asks for. */
export type Message = {
  readonly envelope: ToolCallsRequest;
  /** How the calls came, and so how they are answered; null for the service's own envelope. */
  readonly dialect:
    | (Pick<Dialect, 'format' | 'toRaw'> &
        Pick<ParsedMessage, 'toMessages'> & {
          /** `messages`: nothing but what the conversation goes on with. */
          readonly answer: 'results and messages' | 'messages';
          /** What its provider's models make of names and arguments; null where they are taken as they stand. */
          readonly schemaMode: SchemaMode | null;
        })
    | null;
  /** Of members that are not known, and near one that is. */
  readonly warnings: readonly Warning[];
};

// What the query may say instead of the body; for a body that is posted as a provider sent it.
const ENVELOPE_MEMBERS = 'session_id round_id order on_error deadline_ms wait_ms idempotency notify dry_run'.split(' ');

/** Reads a body of any format, with what the query says of it; a ProblemError where that cannot be. */
export const readMessage = (body: unknown, query: unknown, dialects: Dialects): Message => {
  const parameters = toMembers(query);
  const members = toMembers(body);
  const plain = Object.keys(parameters).length === 0 ? readPlainEnvelope(members) : null;
  if (plain === null) return readAnyMessage(body, members, parameters, dialects);
  return { envelope: plain, dialect: null, warnings: findMisspelledMembers(members, 'envelope') };
};

const readAnyMessage = (body: unknown, members: Members, parameters: Members, dialects: Dialects): Message => {
  const format = readFormat(parameters['format'] ?? members['format']);
  const answer = readAnswer(parameters['raw'] ?? members['raw']);
  const stated = pickEnvelope(members, parameters);
  const dialect = findDialect(format, body, members, dialects);
  const place = dialect === null || OWN.has(dialect.format) ? 'envelope' : 'message';
  const warnings = [...findMisspelledMembers(parameters, 'query'), ...findMisspelledMembers(members, place)];
  if (dialect === null) return { envelope: readNative(body, stated, dialects), dialect: null, warnings };
  refuseNativeCalls(members);
  const parsed = dialect.parse(body);
  if (parsed === null) throw refuseEnvelope(explainMismatch(dialect.format, body, dialects));
  const { format: found, toRaw } = dialect;
  return {
    envelope: readEnvelope({ ...stated, calls: parsed.calls }),
    dialect: { format: found, toRaw, toMessages: parsed.toMessages, answer, schemaMode: findSchemaMode(found) },
    warnings,
  };
};

// A strict model of OpenAI's names every property, and so do models that were taught by its answers. LangChain, the AI SDK and
// Vapi hand its calls on; Anthropic's, Bedrock's and Gemini's may leave properties out. Who writes the envelope itself knows the names.
const OWN: ReadonlySet<MessageFormat> = new Set(['native', 'text'] as const);
const PLAIN: ReadonlySet<MessageFormat> = new Set(['anthropic', 'gemini', 'bedrock'] as const);

const findSchemaMode = (format: MessageFormat): SchemaMode | null => {
  if (OWN.has(format)) return null;
  return PLAIN.has(format) ? 'plain' : 'strict';
};

const toMembers = (value: unknown): Members => (isRecord(value) ? value : NONE);
const NONE: Members = {};

/** The format that a request names, null where it names none; a ProblemError for any other name. */
export const readFormat = (named: unknown): MessageFormat | null => {
  if (named === undefined || named === null) return null;
  const format = MESSAGE_FORMATS.find((name) => name === named);
  if (format !== undefined) return format;
  throw refuseFormat(named, MESSAGE_FORMATS);
};

const readAnswer = (raw: unknown): NonNullable<Message['dialect']>['answer'] => {
  if (raw === true || raw === 'true') return 'messages';
  if (raw === undefined || raw === null || raw === false || raw === 'false') return 'results and messages';
  throw refuseEnvelope('raw: must be true or false');
};

/** What is stated of the calls; the query wins. It has nothing but text. */
const pickEnvelope = (members: Members, parameters: Members): Members => {
  const stated: Record<string, unknown> = {};
  for (const name of ENVELOPE_MEMBERS) {
    if (Object.hasOwn(parameters, name)) stated[name] = readParameter(name, parameters[name]);
    else if (Object.hasOwn(members, name)) stated[name] = members[name];
  }
  return stated;
};

const readParameter = (name: string, parameter: unknown): unknown => {
  if (name === 'dry_run') return parameter === 'true' || (parameter === 'false' ? false : parameter);
  const isNumber = name.endsWith('_ms') && typeof parameter === 'string' && parameter.trim() !== '';
  return isNumber && !Number.isNaN(Number(parameter)) ? Number(parameter) : parameter;
};

const findDialect = (
  format: MessageFormat | null,
  body: unknown,
  members: Members,
  dialects: Dialects,
): Dialect | null => {
  if (format !== null) return dialects.byFormat.get(format) ?? null;
  return Object.hasOwn(members, 'calls') ? null : dialects.detect(body);
};

const readNative = (body: unknown, stated: Members, dialects: Dialects): ToolCallsRequest => {
  const explain = (detail: string): string => {
    const members = toMembers(body);
    if (Object.hasOwn(members, 'calls')) return `${detail}${explainList(members['calls'])}`;
    return explainUnnamed(body, dialects) ?? `${detail}.${explainCalls(members)} ${ACCEPTED_SHAPES}`;
  };
  return readEnvelope(isRecord(body) ? { ...body, ...stated } : body, explain);
};

const isOwnCall = (value: unknown): boolean => {
  const { name, function: inner, type } = toMembers(value);
  return typeof name === 'string' && inner === undefined && type === undefined;
};

const explainList = (calls: unknown): string => (isOwnCall(calls) ? '. Write a list: {"calls": [{…}]}' : '');

/** What was meant by a body without `calls`: a single call, or a list under another name. */
const explainCalls = (members: Members): string => {
  if (isOwnCall(members)) return ' The body is a single call: put it into a list, {"calls": [{…}]}.';
  const [misspelled] = Object.keys(members)
    .slice(0, 16)
    .filter((name) => Array.isArray(members[name]));
  const isNear = misspelled !== undefined && findMisspelledMembers({ [misspelled]: null }, 'envelope').length > 0;
  return isNear ? ` Did you mean 'calls' instead of '${misspelled}'?` : '';
};

// Read as OpenAI's they would have no name each, and their senders would be told to write what they have written.
const refuseNativeCalls = ({ tool_calls: calls }: Members): void => {
  if (
    Array.isArray(calls) &&
    calls.length > 0 &&
    calls.every((call) => isOwnCall(call) && Object.hasOwn(call, 'arguments'))
  )
    throw refuseEnvelope('tool_calls: contains calls in the native format. Rename the list to calls: {"calls": [{…}]}');
};

const readEnvelope = (envelope: unknown, explain = (detail: string): string => detail): ToolCallsRequest => {
  const parsed = ToolCallsRequest.safeParse(envelope);
  if (parsed.success) return parsed.data;
  throw refuseEnvelope(explain(describeIssues(parsed.error.issues)));
};

const refuseEnvelope = (detail: string): ProblemError => new ProblemError(400, 'invalid_envelope', detail);

const describeIssues = (issues: readonly z.core.$ZodIssue[]): string =>
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

const explainMismatch = (format: MessageFormat, body: unknown, dialects: Dialects): string => {
  const found = dialects.formatsIn(body);
  const readers = findReaders(body, found, dialects).filter((reader) => reader !== format);
  const isNot = `The body is not in the format ${format}`;
  if (readers.length > 0)
    return `${isNot}: it contains calls in the format ${readers.join(' or ')}. Send it with format=${readers.join(' or format=')}.`;
  if (found.length > 0)
    return `${isNot}: it contains calls in the format ${found.join(' and ')}${NOT_READ}. Send ${SHAPES[format]}.`;
  // What is wrong with the service's own envelope can be stated in its own words.
  const parsed = SHAPES[format] === SHAPES.native ? ToolCallsRequest.safeParse(body) : null;
  if (parsed?.success === false) return describeIssues(parsed.error.issues);
  return `${isNot}. Send ${SHAPES[format]}.`;
};

/** The same for a body whose format was not named; null where it holds no calls of any format. */
const explainUnnamed = (body: unknown, dialects: Dialects): string | null => {
  const found = dialects.formatsIn(body);
  if (found.length === 0) return null;
  const readers = findReaders(body, found, dialects);
  return readers.length === 0
    ? `The body contains calls in the format ${found.join(' and ')}${NOT_READ}. ${ACCEPTED_SHAPES}`
    : `The body contains calls that fit the formats ${readers.join(' and ')}. Name one: format=${readers.join(' or format=')}.`;
};

const NOT_READ = ' in a place that is not read: stream chunks, a list of messages, or next to calls in another format';

const findReaders = (
  body: unknown,
  found: readonly MessageFormat[],
  { byFormat, detect }: Dialects,
): readonly MessageFormat[] => {
  const detected = detect(body)?.format;
  const formats = new Set(detected === undefined ? found : [detected, ...found]);
  return [...formats].filter((format) => (byFormat.get(format)?.parse(body) ?? null) !== null);
};

/** What a body is as an object: its members, none of them checked. */
type Members = Readonly<Record<string, unknown>>;

// Longer ones may be valid: the schema counts characters, not places of the string.
const MAX_SESSION_ID = 256;
const ROUND_ID = /^[\x20-\x7e]{1,64}$/;

/**
 * The service's own envelope in the form that nearly all requests have, read as `ToolCallsRequest` reads it and about ten
 * times as fast. null where the body is anything else: then the schema decides, and says what is wrong.
 */
export const readPlainEnvelope = (members: Members): ToolCallsRequest | null => {
  const { calls, order = 'parallel', on_error: onError = 'continue', deadline_ms: deadline } = members;
  if (SELDOM.some((name) => members[name] !== undefined)) return null;
  if (!Array.isArray(calls) || calls.length > MAX_ENVELOPE_CALLS) return null;
  if (order !== 'parallel' && order !== 'sequential') return null;
  if (onError !== 'continue' && onError !== 'stop') return null;
  const { session_id: session, round_id: round } = members;
  if (!isSession(session) || !isRound(round) || !isDeadline(deadline)) return null;
  return { session_id: session, round_id: round, calls, order, on_error: onError, deadline_ms: deadline };
};

// Members that the schema reads.
const SELDOM = ['format', 'raw', 'wait_ms', 'idempotency', 'notify', 'dry_run'] as const;

const isSession = (value: unknown): value is string | null | undefined =>
  typeof value === 'string'
    ? value !== '' && value.length <= MAX_SESSION_ID && value.isWellFormed()
    : value === undefined || value === null;

const isRound = (value: unknown): value is string | null | undefined =>
  typeof value === 'string' ? ROUND_ID.test(value) : value === undefined || value === null;

const isDeadline = (value: unknown): value is number | null | undefined =>
  typeof value === 'number' ? value > 0 && value < Number.POSITIVE_INFINITY : value === undefined || value === null;
