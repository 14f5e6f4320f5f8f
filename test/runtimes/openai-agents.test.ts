import { createOpenaiResponses } from '#test/support/providers/openai-responses.ts';
import { runAgent } from '../../examples/openai-agents/agent.ts';
import { describeRuntime } from './describe-runtime.ts';

describeRuntime({
  title: 'openai agents',
  createProvider: createOpenaiResponses,
  environmentOf: (url) => ({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: 'key' }),
  runAgent,
});
