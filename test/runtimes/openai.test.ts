import { openaiChat } from '#test/support/providers/openai-chat.ts';
import { createOpenaiResponses } from '#test/support/providers/openai-responses.ts';
import { runAgent as runChatAgent } from '../../examples/openai/agent.ts';
import { runAgent as runResponsesAgent } from '../../examples/openai/responses.ts';
import { runAgent as runToolsAgent } from '../../examples/openai/run-tools.ts';
import { describeRuntime } from './describe-runtime.ts';

const environmentOf = (url: string) => ({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: 'key' });

describeRuntime({
  title: 'openai, chat completions',
  createProvider: () => openaiChat,
  environmentOf,
  runAgent: runChatAgent,
});

describeRuntime({
  title: 'openai, responses',
  createProvider: createOpenaiResponses,
  environmentOf,
  runAgent: runResponsesAgent,
});

describeRuntime({
  title: 'openai, runTools',
  createProvider: () => openaiChat,
  environmentOf,
  runAgent: runToolsAgent,
});
