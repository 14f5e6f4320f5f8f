import { compatibleChat, openaiChat } from '@recourse/test-support/providers/openai-chat.ts';
import { createOpenaiResponses } from '@recourse/test-support/providers/openai-responses.ts';
import { runAgent as runChatAgent } from '../../examples/openai/agent.ts';
import { runAgent as runResponsesAgent } from '../../examples/openai/responses.ts';
import { runAgent as runToolsAgent } from '../../examples/openai/run-tools.ts';
import { describeRuntime } from './describe-runtime.ts';
import { createBrokenArguments, createUnknownName } from './mistaken-calls.ts';
import { FATAL, SCENARIOS } from './scenarios.ts';

const environmentOf = (url: string) => ({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: 'key' });

describeRuntime({
  title: 'openai, chat completions',
  createProvider: () => openaiChat,
  environmentOf,
  runAgent: runChatAgent,
  scenarios: [...SCENARIOS, createUnknownName(), createBrokenArguments(), FATAL],
});

describeRuntime({
  title: 'openai, responses',
  createProvider: createOpenaiResponses,
  environmentOf,
  runAgent: runResponsesAgent,
  scenarios: [...SCENARIOS, createUnknownName(), createBrokenArguments()],
});

const UNAVAILABLE =
  'Invalid tool_call: "send_fax". Available options are: "charge_card", "close_ledger", "echo", "fetch_url", "list_files", "math_add", "note", "read_cell", "read_file", "search_files", "search_orders", "write_file". Please try again';

describeRuntime({
  title: 'openai, runTools',
  createProvider: () => openaiChat,
  environmentOf,
  runAgent: runToolsAgent,
  scenarios: [...SCENARIOS, createUnknownName({ by: 'runtime', text: UNAVAILABLE }), createBrokenArguments()],
});

describeRuntime({
  title: 'openai, chat completions of a server whose last message has an empty list of calls',
  createProvider: () => compatibleChat,
  environmentOf,
  runAgent: runChatAgent,
});

describeRuntime({
  title: 'openai, runTools with such a server',
  createProvider: () => compatibleChat,
  environmentOf,
  runAgent: runToolsAgent,
});
