import {
  aiSdkMessage,
  anthropicMessage,
  chatCompletion,
  cohereResponse,
  converseOutput,
  geminiResponse,
  langchainMessage,
  mistralResponse,
  nativeEnvelope,
  ollamaResponse,
  openaiResponse,
  type PublishedCall,
  realtimeEvent,
  vapiServerMessage,
} from '@recourse/test-support/formats/published-turns.ts';

/** How each provider writes a turn, and what its ids look like. */
export const PUBLISHED = {
  'openai-chat': { prefix: 'call_', toTurn: chatCompletion },
  'openai-responses': { prefix: 'call_', toTurn: openaiResponse },
  'openai-realtime': { prefix: 'call_', toTurn: realtimeEvent },
  anthropic: { prefix: 'toolu_01', toTurn: anthropicMessage },
  gemini: { prefix: 'fc-', toTurn: geminiResponse },
  bedrock: { prefix: 'tooluse_', toTurn: converseOutput },
  mistral: { prefix: '', toTurn: mistralResponse },
  cohere: { prefix: 'read_file_', toTurn: cohereResponse },
  ollama: { prefix: 'call_', toTurn: ollamaResponse },
  'ai-sdk': { prefix: 'call_', toTurn: aiSdkMessage },
  vapi: { prefix: 'toolu_01', toTurn: vapiServerMessage },
  langchain: { prefix: 'call_', toTurn: langchainMessage },
  text: { prefix: 'step_', toTurn: nativeEnvelope },
} as const;

export type Scenario = { readonly session: string; readonly calls: readonly Omit<PublishedCall, 'id'>[] };

/** What the golden files are about. */
export const SCENARIOS = {
  'one-call': { session: 'one', calls: [{ name: 'echo', arguments: '{"text":"hello"}' }] },
  'parallel-one-fails': {
    session: 'parallel',
    calls: [
      { name: 'read_file', arguments: '{"path":"notes.md","limit":33}' },
      { name: 'read_file', arguments: '{"path":"note.md"}' },
      { name: 'list_files', arguments: '{"path":"."}' },
    ],
  },
  'bad-arguments': { session: 'bad', calls: [{ name: 'read_file', arguments: '{"file":"notes.md","limit":"10"}' }] },
  'budget-exhausted': { session: 'spent', calls: [{ name: 'read_file', arguments: '{"path":"note.md"}' }] },
  'nothing-found': { session: 'none', calls: [{ name: 'search_files', arguments: '{"query":"snow depth sensor"}' }] },
} as const satisfies Record<string, Scenario>;

const SUFFIXES = ['A1b2C3d4E5', 'F6g7H8i9J0', 'K1l2M3n4O5'];

/** The body a provider answers when a model makes the calls of a scenario. */
export const toPublishedTurn = (format: keyof typeof PUBLISHED, scenario: keyof typeof SCENARIOS): unknown => {
  const { prefix, toTurn } = PUBLISHED[format];
  const calls = SCENARIOS[scenario].calls.map((call, index) => ({ id: `${prefix}${SUFFIXES[index]}`, ...call }));
  return JSON.parse(JSON.stringify(toTurn(calls)));
};
