import { type Answer, type AskedCall, defineDialect, type FoundCalls, foundIn } from './define-dialect.ts';
import type { ReadAnswer } from './dialect.ts';
import { type Image, type ImageType, toImageBlocks } from './images.ts';
import { isArray, isObject, listOf, member, toAskedName } from './json-access.ts';
import { isValueAlone } from './observation.ts';
import { parsedValueOf } from './observed-result.ts';

/** Gemini's FunctionResponse: `output` for a success, `error` for a failure. */
export type FunctionResponse<Shown = InlineData> = {
  readonly id?: string;
  readonly name: string;
  readonly response: { readonly output: unknown } | { readonly error: string };
  readonly parts?: Shown[];
};

/** Gemini's FunctionResponsePart; and the same in the other spelling. */
export type InlineData = { readonly inlineData: { readonly mimeType: string; readonly data: string } };
export type SnakeInlineData = { readonly inline_data: { readonly mime_type: string; readonly data: string } };

/** Gemini's Part, in the spelling of the call it answers. */
export type FunctionResponsePart =
  | { readonly functionResponse: FunctionResponse }
  | { readonly function_response: FunctionResponse<SnakeInlineData> };

/** Gemini's Content that answers a turn. */
export type FunctionResponseContent = { readonly role: 'user'; readonly parts: FunctionResponsePart[] };

/** `id` is null where the model gave none: answers are matched by name and order then. */
type AskedPart = AskedCall & {
  readonly givenId: string | null;
  readonly spelling: 'camel' | 'snake';
  readonly looksAt: 'images' | 'text';
};

/**
 * Gemini: a GenerateContentResponse or the list of those that a stream has given, of whose candidates the first with calls
 * is taken, a Content, its parts, or the SDK's `functionCalls`. All answers stand in one user content, as many as calls and in their order.
 */
export const gemini = defineDialect<AskedPart>({
  format: 'gemini',
  spellings: ['gemini'],
  readCalls: (body) => {
    const found = findCalls(body);
    return found?.entries.some(isPiece) === true ? null : found;
  },
  writeAnswers: (answers): readonly FunctionResponseContent[] => [{ role: 'user', parts: answers.map(toPart) }],
  writeTurn: (calls) => ({
    role: 'model',
    parts: calls.map((call) => ({ functionCall: { id: call.id, name: call.name, args: call.arguments } })),
  }),
  readMessage: (message) => listOf(message, 'parts').flatMap(toReadAnswer),
});

const findCalls = (body: unknown): FoundCalls<AskedPart> | null => {
  if (isArray(body)) return body.some(isResponse) ? readResponses(body) : readParts(body);
  if (isResponse(body)) return readResponses([body]);
  const parts = member(body, 'parts');
  if (isArray(parts)) return readParts(parts);
  const calls = member(body, 'functionCalls');
  return isArray(calls) ? readParts(calls.map((functionCall) => ({ functionCall }))) : null;
};

const isResponse = (body: unknown): boolean => isArray(member(body, 'candidates'));

// Where the arguments of a call are streamed as well, no part of it holds all of them.
const isPiece = (part: unknown): boolean => {
  const call = member(part, 'functionCall') ?? member(part, 'function_call');
  return PIECE.some((key) => (member(call, key) ?? null) !== null && member(call, key) !== false);
};
const PIECE = ['partialArgs', 'partial_args', 'willContinue', 'will_continue'];

/** The calls of the first candidate that has any, in all responses of a stream. */
const readResponses = (responses: readonly unknown[]): FoundCalls<AskedPart> => {
  const parts = new Map<unknown, (readonly unknown[])[]>();
  for (const response of responses)
    for (const [place, candidate] of listOf(response, 'candidates').entries()) {
      const index = member(candidate, 'index') ?? place;
      const own = parts.get(index) ?? [];
      own.push(listOf(member(candidate, 'content'), 'parts'));
      parts.set(index, own);
    }
  const looksAt = responses.some((response) => toLooksAt(response) === 'images') ? 'images' : 'text';
  for (const own of parts.values()) {
    const { entries, calls } = readParts(own.flat());
    if (calls.length > 0) return { entries, calls: calls.map((call) => ({ ...call, looksAt })) };
  }
  return { entries: [], calls: [] };
};

// Models before Gemini 3 refuse a request with `functionResponse.parts`; only a whole response says whose it is.
const toLooksAt = (response: unknown): AskedPart['looksAt'] => {
  const version = member(response, 'modelVersion') ?? member(response, 'model_version');
  return typeof version === 'string' && /^(?:models\/)?gemini-(?:[3-9]|\d\d)/.test(version) ? 'images' : 'text';
};

// Dumped by Python, a part without a call says null.
const readParts = (parts: readonly unknown[]): FoundCalls<AskedPart> =>
  foundIn(parts, (part) => {
    const camel = member(part, 'functionCall') ?? null;
    if (camel !== null) return [toAsked(camel, 'camel')];
    const snake = member(part, 'function_call') ?? null;
    return snake === null ? [] : [toAsked(snake, 'snake')];
  });

const toAsked = (given: unknown, spelling: AskedPart['spelling']): AskedPart => {
  if (!isObject(given)) return { id: '', name: null, call: given, givenId: null, spelling, looksAt: 'text' };
  const id = member(given, 'id');
  const name = member(given, 'name');
  const givenId = typeof id === 'string' || typeof id === 'number' ? String(id) : null;
  const call = { id, name, arguments: member(given, 'args') };
  return { id: givenId ?? '', name: toAskedName(name), call, givenId, spelling, looksAt: 'text' };
};

const toPart = (answer: Answer<AskedPart>): FunctionResponsePart => {
  const { asked, success, text } = answer;
  const said = toSaid(answer);
  const response = success ? { output: said.output } : { error: text };
  const named = { name: asked.name ?? UNNAMED, response };
  const whole = asked.givenId === null ? named : { id: asked.givenId, ...named };
  if (said.images.length === 0)
    return asked.spelling === 'camel' ? { functionResponse: whole } : { function_response: whole };
  return asked.spelling === 'camel'
    ? { functionResponse: { ...whole, parts: said.images.map(toInline) } }
    : { function_response: { ...whole, parts: said.images.map(toSnakeInline) } };
};

type Said = { readonly output: unknown; readonly images: readonly Image[] };

const toSaid = ({ asked, parts, text, result }: Answer<AskedPart>): Said => {
  // With nothing to add, the value goes as it is: a text would only quote it.
  if (parts === null)
    return { output: result !== null && isValueAlone(result) ? parsedValueOf(result) : text, images: [] };
  const blocks = asked.looksAt === 'images' ? toImageBlocks<Block>(parts, IMAGE_TYPES, BLOCKS) : null;
  if (blocks === null) return { output: text, images: [] };
  const output = blocks.map((block) => ('text' in block ? block.text : toNote(block.image))).join('\n');
  return { output, images: blocks.flatMap((block) => ('image' in block ? [block.image] : [])) };
};

const IMAGE_TYPES: readonly ImageType[] = ['image/png', 'image/jpeg', 'image/webp'];

type Block = { readonly text: string } | { readonly image: Image };

const BLOCKS = {
  text: (text: string): Block => ({ text }),
  image: (image: Image): Block => ({ image }),
} as const;

const toNote = ({ mimeType, bytes }: Image): string => `${mimeType}, ${bytes} bytes, attached`;

const toInline = ({ mimeType, data }: Image): InlineData => ({ inlineData: { mimeType, data } });

const toSnakeInline = ({ mimeType, data }: Image): SnakeInlineData => ({
  inline_data: { mime_type: mimeType, data },
});

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
