import fc from 'fast-check';

const KEYS = [
  ...['calls', 'tool_calls', 'invalid_tool_calls', 'choices', 'message', 'function', 'custom', 'arguments', 'args'],
  ...['id', 'call_id', 'name', 'type', 'role', 'input', 'output', 'object', 'content', 'stop_reason', 'parts'],
  ...['candidates', 'functionCall', 'function_call', 'functionCalls', 'toolCallList', 'toolCalls', 'lc', 'kwargs'],
  ...['toolUse', 'toolCallId', 'toolName', 'toolPlan', 'finishReason', 'done', 'prefix', 'index', 'response', 'delta'],
  ...['data', '__proto__', 'constructor', 'toString', 'parameters'],
];

const VALUES = [
  ...['tool_use', 'function', 'custom', 'function_call', 'custom_tool_call', 'tool_call', 'invalid_tool_call'],
  ...['tool-calls', 'ai', 'AIMessageChunk', 'constructor', 'message', 'assistant', 'model', 'user', 'response'],
  ...['tool-call', 'response.done', 'realtime.response', 'realtime.item', 'TOOL_CALL'],
  ...['chat.completion', 'echo', '{}', '{', '', 'call_1', 1, 0, -1, Number.POSITIVE_INFINITY, null, true, false],
];

/**
 * Any JSON: mostly made of the words that dialects are told apart by, so that half-right bodies are common, or of what
 * several dialects' bodies hold, in one.
 */
export const toBodyArbitrary = (): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 3, arbitrary: WORDED }, { weight: 3, arbitrary: MIXED }, { weight: 1, arbitrary: fc.jsonValue() });

const CALLS = [
  { id: 'call_1', type: 'function', function: { name: 'echo', arguments: '{}' } },
  { type: 'tool_use', id: 'toolu_1', name: 'echo', input: {} },
  { type: 'function_call', call_id: 'call_1', name: 'echo', arguments: '{}' },
  { functionCall: { name: 'echo', args: {} } },
  { function_call: { name: 'echo', args: {} } },
  { name: 'echo', args: {}, id: 'call_1', type: 'tool_call' },
  { toolUse: { toolUseId: 'tooluse_1', name: 'echo', input: {} } },
  { type: 'tool-call', toolCallId: 'call_1', toolName: 'echo', input: {} },
  { function: { name: 'echo', arguments: {} } },
  { type: 'function_call', call_id: 'call_1', name: 'echo', arguments: '{}', object: 'realtime.item' },
  { type: 'text', text: 'Hm' },
  42,
];
const CONTAINERS = [
  'toolCalls',
  'tool_calls',
  'invalid_tool_calls',
  'output',
  'content',
  'parts',
  'functionCalls',
  'candidates',
];
const CALL_LIST = fc.array(fc.constantFrom(...CALLS), { maxLength: 4 });

const MIXED: fc.Arbitrary<unknown> = fc.oneof(
  CALL_LIST,
  fc.dictionary(fc.constantFrom(...CONTAINERS), CALL_LIST, { minKeys: 1, maxKeys: 3 }),
  fc.tuple(fc.constantFrom(...CALLS), fc.constantFrom(...CALLS)).map(([one, other]) => Object.assign({}, one, other)),
);

const WORDED: fc.Arbitrary<unknown> = fc.letrec<{ node: unknown }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 5, depthSize: 'medium' },
    fc.constantFrom(...VALUES),
    fc.array(tie('node'), { maxLength: 4 }),
    // fromEntries makes members of their own of such names as __proto__, as JSON.parse does.
    fc
      .array(fc.tuple(fc.constantFrom(...KEYS), tie('node')), { maxLength: 6 })
      .map((pairs) => Object.fromEntries(pairs)),
  ),
})).node;
