import { AIMessage, type BaseMessage, HumanMessage } from '@langchain/core/messages';
import { ToolNode } from '@langchain/langgraph/prebuilt';
import { MultiServerMCPClient } from '@langchain/mcp-adapters';
import { ChatOpenAICompletions } from '@langchain/openai';
import { openaiChat } from '@recourse/test-support/providers/openai-chat.ts';
import { startProviderEndpoint } from '@recourse/test-support/providers/provider-endpoint.ts';
import { startService } from '@recourse/test-support/start-service.ts';
import { expect, onTestFinished, test } from 'vitest';
import { createRuntimeTools } from './runtime-tools.ts';

const CALLS = [
  { id: 'call_1', name: 'echo', arguments: { text: 'hello' } },
  { id: 'call_2', name: 'charge_card', arguments: { amount: 10 } },
];

test("LangChain's MCP adapter lists the tools of /mcp, runs its calls there, and the model reads what came of them", async () => {
  const runtimeTools = createRuntimeTools();
  const service = await startService({}, runtimeTools.tools);
  onTestFinished(service.stop);
  const endpoint = await startProviderEndpoint(openaiChat, ({ rounds }) =>
    rounds.length === 0 ? { calls: CALLS } : { text: rounds[0]?.map(({ text }) => text).join('\n') ?? '' },
  );
  onTestFinished(endpoint.stop);
  const client = new MultiServerMCPClient({
    mcpServers: { recourse: { transport: 'http', url: `${service.url}/mcp` } },
  });
  onTestFinished(() => client.close());
  const listed = await client.getTools();
  expect(listed.map(({ name }) => name)).toContain('math.add');
  // OpenAI refuses a name with a dot, and the adapter leaves it as it is.
  const tools = listed.filter(({ name }) => !name.includes('.'));
  const model = new ChatOpenAICompletions({
    model: 'gpt-4.1',
    apiKey: 'key',
    maxRetries: 0,
    configuration: { baseURL: `${endpoint.url}/v1` },
  }).bindTools(tools);
  const messages: BaseMessage[] = [new HumanMessage('Say hello and charge 10.')];
  const turn = await model.invoke(messages);
  expect(AIMessage.isInstance(turn) && turn.tool_calls?.map(({ name }) => name)).toEqual(['echo', 'charge_card']);
  messages.push(turn, ...(await new ToolNode(tools).invoke([...messages, turn])));
  const answer = await model.invoke(messages);
  expect(endpoint.rejections()).toEqual([]);
  expect(answer.text.split('\n')).toEqual([
    // The adapter shows the model the whole result where there is structured content.
    expect.stringContaining(String.raw`{\"text\":\"hello\"}`),
    "Error: MCP tool 'charge_card' on server 'recourse' returned an error: ERROR: tool_exception: Error: the card was declined. This was attempt 1 of 2; one retry is left.",
    ' Please fix your mistakes.',
  ]);
  expect(runtimeTools.charges()).toEqual([10]);
});
