import { createOpenaiResponses } from '@recourse/test-support/providers/openai-responses.ts';
import { runAgent } from '../../examples/openai-agents/agent.ts';
import { describeRuntime } from './describe-runtime.ts';
import { createBrokenArguments, createUnknownName } from './mistaken-calls.ts';
import { SCENARIOS } from './scenarios.ts';

describeRuntime({
  title: 'openai agents',
  createProvider: createOpenaiResponses,
  environmentOf: (url) => ({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: 'key' }),
  runAgent,
  scenarios: [
    ...SCENARIOS,
    createUnknownName({ by: 'runtime', text: "Tool 'send_fax' not found." }),
    createBrokenArguments({
      by: 'runtime',
      text: 'An error occurred while parsing tool arguments. Please try again with valid JSON.',
    }),
  ],
});
