import { vi } from 'vitest';
import { createOpenaiResponses } from '#test/support/providers/openai-responses.ts';
import { runAgent } from '../../examples/vercel-ai/agent.ts';
import { describeRuntime } from './describe-runtime.ts';

// It warns about every keyword that it leaves out of a schema.
vi.stubGlobal('AI_SDK_LOG_WARNINGS', false);

describeRuntime({
  title: 'ai, generateText',
  createProvider: createOpenaiResponses,
  environmentOf: (url) => ({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: 'key' }),
  runAgent,
});
