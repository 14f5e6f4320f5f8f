import { openaiChat } from '@recourse/test-support/providers/openai-chat.ts';
import { describeRuntime } from './describe-runtime.ts';
import { runMcpAgent } from './mcp-agent.ts';
import { createUnknownName } from './mistaken-calls.ts';
import { SCENARIOS_WITHOUT_ROUNDS } from './scenarios.ts';

describeRuntime({
  title: 'an MCP client at /mcp',
  createProvider: () => openaiChat,
  environmentOf: (url) => ({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: 'key' }),
  runAgent: runMcpAgent,
  scenarios: [...SCENARIOS_WITHOUT_ROUNDS, createUnknownName()],
});
