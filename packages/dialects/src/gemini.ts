import { isArray, isRecord, type JsonRecord, listAt, memberOf } from 'recourse-server/contract/json-record';
import type { Scheduling } from 'recourse-server/contract/message-format';
import type { ObservedResult } from 'recourse-server/routes/dialects';
import {
  type Answer,
  createBrokenCall,
  defineDialect,
  type FoundCalls,
  foundIn,
  NO_CALLS,
  type ProviderCall,
  readProviderCall,
} from './define-dialect.ts';
import { formatOfItems } from './detect-format.ts';
import { type Image, type ImageType, writeImageBlocks } from './media.ts';
import { explainResult, isValueAlone, parsedValueOf } from './observation.ts';

/**
 * Gemini's FunctionResponse: `output` for a success and for a pending call, `error` for a failure. `willContinue` stands on
 * pending calls of the Live API alone: there it announces a second response, and Vertex refuses it.
 */
type FunctionResponse<Shown> = {
  readonly id?: string;
  readonly name: string;
  readonly response: { readonly output: unknown } | { readonly error: string };
  readonly parts?: Shown[];
  readonly willContinue?: true;
};

/** Gemini's Content that answers a message; each Part in the casing of the call it answers. */
export type FunctionResponseContent = {
  readonly role: 'user';
  readonly parts: (
    | { readonly functionResponse: FunctionResponse<ReturnType<typeof toInline>> }
    | { readonly function_response: FunctionResponse<ReturnType<typeof toSnakeInline>> }
  )[];
};

/** `ownId` is null where the model gave none: answers are matched by name and order then. */
type GeminiCall = ProviderCall & {
  readonly ownId: string | null;
  readonly casing: 'camel' | 'snake';
  readonly looksAt: 'images' | 'text';
  /** `live`: a tool call message of the Live API, where a call may be answered twice. */
  readonly origin: 'content' | 'live';
};

const isGemini = (body: JsonRecord): boolean => {
  const holders = [body, memberOf(body, 'toolCall')];
  if (isArray(memberOf(body, 'candidates')) || holders.some((holder) => isArray(memberOf(holder, 'functionCalls'))))
    return true;
  const parts = memberOf(body, 'parts');
  return isArray(parts) && (memberOf(body, 'role') === 'model' || formatOfItems(parts) === 'gemini');
};

/**
 * Gemini: a GenerateContentResponse or the list of those that a stream has given, of whose candidates the first with calls
 * is taken, a Content, its parts, the SDK's `functionCalls`, or the `toolCall` message of the Live API. All answers stand in one user content, as many as calls and in their order.
 */
export const gemini = defineDialect<GeminiCall>({
  format: 'gemini',
  marks: isGemini,
  reads: ['gemini'],
  readCalls: (body) => {
    const found = findCalls(body);
    return found?.entries.some(isPiece) === true ? null : found;
  },
  writeAnswers: (answers): readonly FunctionResponseContent[] => [{ role: 'user', parts: answers.map(writePart) }],
});

const findCalls = (body: unknown): FoundCalls<GeminiCall> | null => {
  if (isArray(body)) return body.some(isResponse) ? readResponses(body) : readParts(body);
  if (isResponse(body)) return readResponses([body]);
  const parts = memberOf(body, 'parts');
  if (isArray(parts)) return readParts(parts);
  const calls = memberOf(body, 'functionCalls');
  if (isArray(calls)) return readCalls(calls);
  const ofLive = memberOf(memberOf(body, 'toolCall'), 'functionCalls');
  return isArray(ofLive) ? writeLive(readCalls(ofLive)) : null;
};

const readCalls = (calls: readonly unknown[]): FoundCalls<GeminiCall> =>
  readParts(calls.map((functionCall) => ({ functionCall })));

const writeLive = ({ entries, calls }: FoundCalls<GeminiCall>): FoundCalls<GeminiCall> => ({
  entries,
  calls: calls.map((call) => ({ ...call, origin: 'live' })),
});

const isResponse = (body: unknown): boolean => isArray(memberOf(body, 'candidates'));

// Where the arguments of a call are streamed as well, no part of it holds all of them.
const isPiece = (part: unknown): boolean => {
  const call = memberOf(part, 'functionCall') ?? memberOf(part, 'function_call');
  return PIECE.some((key) => (memberOf(call, key) ?? null) !== null && memberOf(call, key) !== false);
};
const PIECE = ['partialArgs', 'partial_args', 'willContinue', 'will_continue'];

/** The calls of the first candidate that has any, in all responses of a stream. */
const readResponses = (responses: readonly unknown[]): FoundCalls<GeminiCall> => {
  const parts = new Map<unknown, (readonly unknown[])[]>();
  for (const response of responses)
    for (const [place, candidate] of listAt(response, 'candidates').entries()) {
      const index = memberOf(candidate, 'index') ?? place;
      const own = parts.get(index) ?? [];
      own.push(listAt(memberOf(candidate, 'content'), 'parts'));
      parts.set(index, own);
    }
  const looksAt = responses.some((response) => decideLooksAt(response) === 'images') ? 'images' : 'text';
  for (const own of parts.values()) {
    const { entries, calls } = readParts(own.flat());
    if (calls.length > 0) return { entries, calls: calls.map((call) => ({ ...call, looksAt })) };
  }
  return NO_CALLS;
};

// Models before Gemini 3 refuse a request with `functionResponse.parts`; only a whole response says whose it is.
const decideLooksAt = (response: unknown): GeminiCall['looksAt'] => {
  const version = memberOf(response, 'modelVersion') ?? memberOf(response, 'model_version');
  return typeof version === 'string' && /^(?:models\/)?gemini-(?:[3-9]|\d\d)/.test(version) ? 'images' : 'text';
};

// Dumped by Python, a part without a call says null.
const readParts = (parts: readonly unknown[]): FoundCalls<GeminiCall> =>
  foundIn(parts, (part) => {
    const camel = memberOf(part, 'functionCall') ?? null;
    if (camel !== null) return [readCall(camel, 'camel')];
    const snake = memberOf(part, 'function_call') ?? null;
    return snake === null ? [] : [readCall(snake, 'snake')];
  });

const readCall = (call: unknown, casing: GeminiCall['casing']): GeminiCall => {
  const id = memberOf(call, 'id');
  const read = isRecord(call)
    ? readProviderCall(id, memberOf(call, 'name'), memberOf(call, 'args'))
    : createBrokenCall(call);
  const ownId = read.id === '' && id !== '' ? null : String(read.id);
  return { ...read, id: ownId ?? '', ownId, casing, looksAt: 'text', origin: 'content' };
};

// The API refuses a response without a name.
const UNNAMED = 'unknown';

const writePart = (answer: Answer<GeminiCall>): FunctionResponseContent['parts'][number] => {
  const { call, failed, text, result } = answer;
  const { output, images } = writeOutput(answer);
  const response = failed ? { error: text } : { output };
  const goesOn = call.origin === 'live' && result?.outcome === 'pending';
  const named = { name: call.name ?? UNNAMED, response, ...(goesOn ? { willContinue: true as const } : {}) };
  const whole = call.ownId === null ? named : { id: call.ownId, ...named };
  if (call.casing === 'camel')
    return { functionResponse: images.length === 0 ? whole : { ...whole, parts: images.map(toInline) } };
  return { function_response: images.length === 0 ? whole : { ...whole, parts: images.map(toSnakeInline) } };
};

/** The part by which the Live API hears of the end of a call that was answered with `willContinue`. */
export const writeScheduledPart = (
  { id, name }: { readonly id: string | number | null; readonly name: string | null },
  result: ObservedResult,
  scheduling: Scheduling,
) => {
  const text = explainResult(result);
  const response = result.success ? { output: pickValue(result, text) } : { error: text };
  const head = id === null ? {} : { id: String(id) };
  return { functionResponse: { ...head, name: name ?? UNNAMED, response, scheduling } };
};

// With nothing to add, the value goes as it is: a text would only quote it.
const pickValue = (result: ObservedResult, text: string): unknown =>
  isValueAlone(result) ? parsedValueOf(result) : text;

type Output = { readonly output: unknown; readonly images: readonly Image[] };

const writeOutput = ({ call, parts, text, result }: Answer<GeminiCall>): Output => {
  if (parts === null) return { output: result === null ? text : pickValue(result, text), images: [] };
  const blocks = call.looksAt === 'images' ? writeImageBlocks<Block>(parts, IMAGE_TYPES, BLOCKS) : null;
  if (blocks === null) return { output: text, images: [] };
  const output = blocks.map((block) => ('text' in block ? block.text : describeImage(block.image))).join('\n');
  return { output, images: blocks.flatMap((block) => ('image' in block ? [block.image] : [])) };
};

const IMAGE_TYPES: readonly ImageType[] = ['image/png', 'image/jpeg', 'image/webp'];

type Block = { readonly text: string } | { readonly image: Image };

const BLOCKS = {
  text: (text: string): Block => ({ text }),
  image: (image: Image): Block => ({ image }),
} as const;

const describeImage = ({ mimeType, bytes }: Image): string => `${mimeType}, ${bytes} bytes, attached`;

const toInline = ({ mimeType, data }: Image) => ({ inlineData: { mimeType, data } });

const toSnakeInline = ({ mimeType, data }: Image) => ({ inline_data: { mime_type: mimeType, data } });
