import { type Answer, type AskedCall, defineDialect } from './define-dialect.ts';
import type { ReadAnswer } from './dialect.ts';
import { isArray, isObject, listOf, member, toAskedName } from './json-access.ts';
import { isValueAlone } from './observation.ts';

/** Gemini's FunctionResponse: `output` for a success, `error` for a failure. */
export type FunctionResponse = {
  readonly id?: string;
  readonly name: string;
  readonly response: { readonly output: unknown } | { readonly error: string };
};

/** Gemini's Part, in the spelling of the call it answers. */
export type FunctionResponsePart =
  | { readonly functionResponse: FunctionResponse }
  | { readonly function_response: FunctionResponse };

/** Gemini's Content that answers a turn. */
export type FunctionResponseContent = { readonly role: 'user'; readonly parts: FunctionResponsePart[] };

/** `id` is null where the model gave none: answers are matched by name and order then. */
type AskedPart = AskedCall & { readonly givenId: string | null; readonly spelling: 'camel' | 'snake' };

/**
 * Gemini: a GenerateContentResponse, of whose candidates the first with calls is taken, a Content, its parts, or the
 * SDK's `functionCalls`. All answers stand in one user content, as many as calls and in their order.
 */
export const gemini = defineDialect<AskedPart>({
  format: 'gemini',
  readCalls: (body) => findCalls(body),
  writeAnswers: (answers): readonly FunctionResponseContent[] => [{ role: 'user', parts: answers.map(toPart) }],
  writeTurn: (calls) => ({
    role: 'model',
    parts: calls.map((call) => ({ functionCall: { id: call.id, name: call.name, args: call.arguments } })),
  }),
  readMessage: (message) => listOf(message, 'parts').flatMap(toReadAnswer),
});

const findCalls = (body: unknown): readonly AskedPart[] | null => {
  if (isArray(body)) return readParts(body);
  const candidates = member(body, 'candidates');
  if (isArray(candidates)) {
    for (const candidate of candidates) {
      const calls = readParts(listOf(member(candidate, 'content'), 'parts'));
      if (calls.length > 0) return calls;
    }
    return [];
  }
  const parts = member(body, 'parts');
  if (isArray(parts)) return readParts(parts);
  const calls = member(body, 'functionCalls');
  return isArray(calls) ? calls.map((call) => toAsked(call, 'camel')) : null;
};

// Dumped by Python, a part without a call says null.
const readParts = (parts: readonly unknown[]): readonly AskedPart[] =>
  parts.flatMap((part) => {
    const camel = member(part, 'functionCall') ?? null;
    if (camel !== null) return [toAsked(camel, 'camel')];
    const snake = member(part, 'function_call') ?? null;
    return snake === null ? [] : [toAsked(snake, 'snake')];
  });

const toAsked = (given: unknown, spelling: AskedPart['spelling']): AskedPart => {
  if (!isObject(given)) return { id: '', name: null, call: given, givenId: null, spelling };
  const id = member(given, 'id');
  const name = member(given, 'name');
  const givenId = typeof id === 'string' || typeof id === 'number' ? String(id) : null;
  const call = { id, name, arguments: member(given, 'args') };
  return { id: givenId ?? '', name: toAskedName(name), call, givenId, spelling };
};

const toPart = ({ asked, success, text, result }: Answer<AskedPart>): FunctionResponsePart => {
  // With nothing to add, the value goes as it is: a text would only quote it.
  const output = result !== null && isValueAlone(result) ? result.value : text;
  const response = success ? { output } : { error: text };
  const named = { name: asked.name ?? UNNAMED, response };
  const whole: FunctionResponse = asked.givenId === null ? named : { id: asked.givenId, ...named };
  return asked.spelling === 'camel' ? { functionResponse: whole } : { function_response: whole };
};

// The API refuses a response without a name.
const UNNAMED = 'unknown';

const toReadAnswer = (part: unknown): readonly ReadAnswer[] => {
  const given = member(part, 'functionResponse') ?? member(part, 'function_response');
  const response = member(given, 'response');
  if (!isObject(response)) return [];
  const error = member(response, 'error');
  const text = typeof error === 'string' ? error : toText(member(response, 'output'));
  const id = member(given, 'id');
  const name = toAskedName(member(given, 'name'));
  return [{ id: typeof id === 'string' ? id : null, name, success: typeof error !== 'string', text }];
};

const toText = (output: unknown): string => (typeof output === 'string' ? output : (JSON.stringify(output) ?? ''));
