/** The format of every dialect. A literal, so that one that is added or lost is seen. */
export const ALL_FORMATS = [
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
