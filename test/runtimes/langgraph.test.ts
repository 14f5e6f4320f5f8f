import { compatibleChat, openaiChat } from '@recourse/test-support/providers/openai-chat.ts';
import { createOpenaiResponses } from '@recourse/test-support/providers/openai-responses.ts';
import { runAgent } from '../../examples/langgraph/agent.ts';
import { describeRuntime } from './describe-runtime.ts';
import { createBrokenArguments, createUnknownName } from './mistaken-calls.ts';
import { SCENARIOS } from './scenarios.ts';

const environmentOf = (url: string) => ({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: 'key' });

describeRuntime({
  title: 'langgraph, with a model it asks by the Responses API',
  createProvider: createOpenaiResponses,
  environmentOf,
  runAgent,
  scenarios: [...SCENARIOS, createUnknownName(), createBrokenArguments()],
});

describeRuntime({
  title: 'langgraph, with a model it asks by chat completions',
  createProvider: () => openaiChat,
  environmentOf: (url) => ({ ...environmentOf(url), OPENAI_MODEL: 'gpt-4.1' }),
  runAgent,
  scenarios: [...SCENARIOS, createUnknownName(), createBrokenArguments()],
});

describeRuntime({
  title: 'langgraph, with a server whose last message has an empty list of calls',
  createProvider: () => compatibleChat,
  environmentOf: (url) => ({ ...environmentOf(url), OPENAI_MODEL: 'gpt-4.1' }),
  runAgent,
});
