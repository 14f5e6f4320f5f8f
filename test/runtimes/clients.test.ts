import { openaiChat } from '@recourse/test-support/providers/openai-chat.ts';
import { cohere, createBedrock, mistral, ollama } from '@recourse/test-support/providers/other-apis.ts';
import { vi } from 'vitest';
import { runAiSdk, runBedrock, runCohere, runLlamaIndex, runMistral, runOllama } from './client-agents.ts';
import { describeRuntime } from './describe-runtime.ts';
import { SCENARIOS_IN_WORDS, TWO_SCENARIOS } from './scenarios.ts';

// The AI SDK warns about every keyword that it leaves out of a schema.
vi.stubGlobal('AI_SDK_LOG_WARNINGS', false);

const environmentOf = (url: string) => ({
  PROVIDER_URL: url,
  OPENAI_BASE_URL: `${url}/v1`,
  OPENAI_API_KEY: 'key',
});
const SHARED = { environmentOf, scenarios: TWO_SCENARIOS };

describeRuntime({ ...SHARED, title: '@mistralai/mistralai', createProvider: () => mistral, runAgent: runMistral });
describeRuntime({ ...SHARED, title: 'cohere-ai', createProvider: () => cohere, runAgent: runCohere });
describeRuntime({ ...SHARED, title: 'ollama', createProvider: () => ollama, runAgent: runOllama });
describeRuntime({
  ...SHARED,
  title: '@aws-sdk/client-bedrock-runtime',
  createProvider: createBedrock,
  runAgent: runBedrock,
});

describeRuntime({
  ...SHARED,
  title: 'ai, the whole turn at once',
  createProvider: () => openaiChat,
  runAgent: runAiSdk,
  // The SDK's own way to tell OpenAI of a failure.
  rewrite: (text, isError) => (isError ? JSON.stringify({ error: text }) : text),
});

describeRuntime({
  environmentOf,
  scenarios: SCENARIOS_IN_WORDS,
  title: '@llamaindex/openai, one call at a time',
  createProvider: () => openaiChat,
  runAgent: runLlamaIndex,
  // It writes every answer as JSON and takes the quotation marks out.
  rewrite: (text) => JSON.stringify(text).replaceAll('"', ''),
});
