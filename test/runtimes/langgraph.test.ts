import { openaiChat } from '#test/support/providers/openai-chat.ts';
import { createOpenaiResponses } from '#test/support/providers/openai-responses.ts';
import { runAgent } from '../../examples/langgraph/agent.ts';
import { describeRuntime } from './describe-runtime.ts';

const environmentOf = (url: string) => ({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: 'key' });

describeRuntime({
  title: 'langgraph, with a model it asks by the Responses API',
  createProvider: createOpenaiResponses,
  environmentOf,
  runAgent,
});

describeRuntime({
  title: 'langgraph, with a model it asks by chat completions',
  createProvider: () => openaiChat,
  environmentOf: (url) => ({ ...environmentOf(url), OPENAI_MODEL: 'gpt-4.1' }),
  runAgent,
});
