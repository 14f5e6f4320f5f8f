/**
 * How the tool calls of a model turn are written, and what the conversation goes on with. `native` is this service's
 * own envelope; `text` takes the native envelope and answers in plain observations.
 */
export const MESSAGE_FORMATS = [
  'native',
  'openai-chat',
  'openai-responses',
  'openai-realtime',
  'anthropic',
  'gemini',
  'bedrock',
  'mistral',
  'cohere',
  'ollama',
  'ai-sdk',
  'vapi',
  'langchain',
  'text',
] as const;
export type MessageFormat = (typeof MESSAGE_FORMATS)[number];

/** How the catalogue of tools can be written. */
export const CATALOGUE_FORMATS = [
  'native',
  'openai-chat',
  'openai-responses',
  'openai-realtime',
  'anthropic',
  'gemini',
  'bedrock',
  'mistral',
  'cohere',
  'ollama',
  'ai-sdk',
  'mcp',
] as const;
export type CatalogueFormat = (typeof CATALOGUE_FORMATS)[number];

/** How Gemini's Live API lets its model hear of a late response. */
export const SCHEDULINGS = ['WHEN_IDLE', 'INTERRUPT', 'SILENT'] as const;
export type Scheduling = (typeof SCHEDULINGS)[number];
