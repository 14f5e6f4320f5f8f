import { rejectGemini, rejectUnregistered } from './gemini-rejection.ts';
import { isArrayOfObjects, isObject, type JsonObject, objectsOf } from './json-type.ts';
import { judgeGeminiTools } from './judge-gemini-tools.ts';
import {
  type Conversation,
  firstObjection,
  type ModelTurn,
  NOTHING_SAID,
  type Observation,
  type Provider,
  type Rejection,
  toObjectArguments,
} from './provider.ts';
import { toOfferedTool } from './to-offered-tool.ts';

type Content = { readonly role: unknown; readonly parts: readonly JsonObject[]; readonly place: number };
type Request = { readonly contents: readonly Content[]; readonly tools: unknown };

/**
 * Gemini's `POST /v1/models/{model}:generateContent`, or `/v1beta`. Calls have ids since Gemini 3, and then a thought signature
 * that must come back; before, neither. Error texts are the API's, as public bug reports quote them.
 */
export const createGemini = ({ generation }: { readonly generation: 2 | 3 }): Provider => ({
  servesPath: (path) => /^\/v1(?:beta)?\/models\/[\w.-]+:generateContent$/.test(path),
  take: (body, headers) => {
    const request = toRequest(body);
    const rules = generation === 3 ? [...RULES, judgeSignatures] : RULES;
    const rejection = rejectUnregistered(headers) ?? ('status' in request ? request : firstObjection(rules, request));
    if (rejection !== null) return { kind: 'rejected', rejection };
    return { kind: 'accepted', conversation: 'status' in request ? NOTHING_SAID : toConversation(request) };
  },
  write: (turn) => ({
    candidates: [{ index: 0, finishReason: 'STOP', content: { role: 'model', parts: toParts(turn, generation) } }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
    modelVersion: 'scripted',
    responseId: 'scripted',
  }),
});

const toRequest = (body: unknown): Request | Rejection => {
  const { contents, tools } = isObject(body) ? body : {};
  if (!isArrayOfObjects(contents) || contents.length === 0)
    return rejectGemini('* GenerateContentRequest.contents: contents is not specified');
  const read: Content[] = [];
  for (const [place, { role, parts }] of contents.entries()) {
    if (!isArrayOfObjects(parts) || parts.length === 0)
      return rejectGemini(`* GenerateContentRequest.contents[${place}].parts: contents.parts must not be empty.`);
    read.push({ role, parts, place });
  }
  return { contents: read, tools };
};

const membersOf = (parts: readonly JsonObject[], member: 'functionCall' | 'functionResponse'): readonly JsonObject[] =>
  parts.flatMap((part) => (isObject(part[member]) ? [part[member]] : []));

const judgeEach =
  (judge: (content: Content, contents: readonly Content[]) => Rejection | null) =>
  ({ contents }: Request): Rejection | null => {
    for (const content of contents) {
      const rejection = judge(content, contents);
      if (rejection !== null) return rejection;
    }
    return null;
  };

const judgeRoles = judgeEach(({ role }) =>
  role === 'user' || role === 'model' || role === undefined
    ? null
    : rejectGemini('Please use a valid role: user, model.'),
);

const judgeParts = judgeEach(({ parts, place }) => {
  for (const [index, part] of parts.entries()) {
    const path = `contents[${place}].parts[${index}]`;
    if (!['text', 'functionCall', 'functionResponse'].some((member) => part[member] !== undefined))
      return rejectGemini(
        `* GenerateContentRequest.${path}.data: required oneof field 'data' must have one initialized field`,
      );
    if (part['text'] !== undefined && typeof part['text'] !== 'string')
      return rejectGemini(`Invalid value at '${path}.text' (TYPE_STRING), ${JSON.stringify(part['text'])}`);
  }
  return null;
});

const judgeResponses = judgeEach(({ parts, place }) => {
  for (const [index, { name, response }] of membersOf(parts, 'functionResponse').entries()) {
    const path = `contents[${place}].parts[${index}].function_response`;
    if (typeof name !== 'string' || name === '')
      return rejectGemini(`* GenerateContentRequest.${path}.name: Name cannot be empty.`);
    if (Array.isArray(response))
      return rejectGemini(
        `Invalid JSON payload received. Unknown name "response" at '${path}': Proto field is not repeating, cannot start list.`,
      );
    if (!isObject(response))
      return rejectGemini(
        `Invalid value at '${path}.response' (type.googleapis.com/google.protobuf.Struct), ${JSON.stringify(response)}`,
      );
  }
  return null;
});

const judgeOrder = judgeEach(({ parts, place }, contents) => {
  const before = contents[place - 1];
  if (membersOf(parts, 'functionResponse').length > 0 && membersOf(before?.parts ?? [], 'functionCall').length === 0)
    return rejectGemini('Please ensure that function response turn comes immediately after a function call turn.');
  return membersOf(parts, 'functionCall').length > 0 && before?.role !== 'user'
    ? rejectGemini(
        'Please ensure that function call turn comes immediately after a user turn or after a function response turn.',
      )
    : null;
});

const judgeCount = judgeEach(({ parts, place }, contents) => {
  const calls = membersOf(parts, 'functionCall').length;
  const after = contents[place + 1]?.parts ?? [];
  return calls === 0 || membersOf(after, 'functionResponse').length === calls
    ? null
    : rejectGemini(
        'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
      );
});

// Gemini 2 pairs by position, Gemini 3 by id: whoever keeps order, names and ids is right with both.
const judgePairs = judgeEach(({ parts, place }, contents) => {
  const responses = membersOf(contents[place + 1]?.parts ?? [], 'functionResponse');
  const wrong = membersOf(parts, 'functionCall').some(
    ({ id, name }, index) => responses[index]?.['name'] !== name || (responses[index]?.['id'] ?? undefined) !== id,
  );
  return wrong
    ? rejectGemini(
        'Please ensure that function response parts match the function call parts of the function call turn.',
      )
    : null;
});

/** The first call of a turn carries a signature; parallel ones beside it need none. */
const judgeSignatures = judgeEach(({ parts, place }) => {
  const first = parts.find((part) => isObject(part['functionCall']));
  return first === undefined || typeof first['thoughtSignature'] === 'string'
    ? null
    : rejectGemini(
        `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call position ${place + 1}.`,
      );
});

const RULES = [
  judgeRoles,
  judgeParts,
  judgeResponses,
  judgeOrder,
  judgeCount,
  judgePairs,
  ({ tools }: Request) => judgeGeminiTools(tools),
];

const toConversation = ({ contents, tools }: Request): Conversation => ({
  question: contents.flatMap(({ parts }) => parts.map(({ text }) => (typeof text === 'string' ? text : '')))[0] ?? '',
  tools: objectsOf(tools)
    .flatMap(({ functionDeclarations }) => objectsOf(functionDeclarations))
    .map((tool) => toOfferedTool(tool, tool['parameters'] === undefined ? 'parametersJsonSchema' : 'parameters')),
  rounds: contents.flatMap(({ parts }) => {
    const responses = membersOf(parts, 'functionResponse');
    return responses.length === 0 ? [] : [responses.map(toObservation)];
  }),
});

/** `output` and `error` are the members that Gemini's documentation gives a meaning. */
const toObservation = ({ id, response }: JsonObject): Observation => {
  const { output, error } = isObject(response) ? response : {};
  const said = error ?? output;
  return {
    id: typeof id === 'string' ? id : null,
    text: typeof said === 'string' ? said : JSON.stringify(said),
    isError: error !== undefined,
  };
};

const toParts = (turn: ModelTurn, generation: 2 | 3): readonly unknown[] =>
  'text' in turn
    ? [{ text: turn.text }]
    : turn.calls.map((call, index) => ({
        functionCall: { ...(generation === 3 ? { id: call.id } : {}), name: call.name, args: toObjectArguments(call) },
        ...(generation === 3 && index === 0 ? { thoughtSignature: 'c2NyaXB0ZWQ=' } : {}),
      }));
