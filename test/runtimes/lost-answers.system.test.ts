import { HumanMessage } from '@langchain/core/messages';
import { createReactAgent } from '@langchain/langgraph/prebuilt';
import { ChatOpenAI } from '@langchain/openai';
import { createRecourse } from '@recourse/client';
import { toLangChainTools } from '@recourse/client/langchain';
import { startLosingProxy } from '@recourse/test-support/losing-proxy.ts';
import { createAnthropic } from '@recourse/test-support/providers/anthropic.ts';
import { createGemini } from '@recourse/test-support/providers/gemini.ts';
import { openaiChat } from '@recourse/test-support/providers/openai-chat.ts';
import { createOpenaiResponses } from '@recourse/test-support/providers/openai-responses.ts';
import type { Conversation, ModelTurn, Provider } from '@recourse/test-support/providers/provider.ts';
import { startProviderEndpoint } from '@recourse/test-support/providers/provider-endpoint.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import * as z from 'zod';
import { defineTool } from '#src/tools/define-tool.ts';
import { runAgent as runAnthropic } from '../../examples/anthropic/agent.ts';
import { runAgent as runAnthropicToolRunner } from '../../examples/anthropic/tool-runner.ts';
import { runAgent as runParks } from '../../examples/background/parks.ts';
import { runAgent as runToldLater } from '../../examples/background/told-later.ts';
import { runAgent as runGemini } from '../../examples/gemini/agent.ts';
import { runAgent as runLangGraph } from '../../examples/langgraph/agent.ts';
import { runAgent as runChat } from '../../examples/openai/agent.ts';
import { runAgent as runResponses } from '../../examples/openai/responses.ts';
import { runAgent as runRunTools } from '../../examples/openai/run-tools.ts';
import { runAgent as runAgentsSdk } from '../../examples/openai-agents/agent.ts';
import { runAgent as runAiSdk } from '../../examples/vercel-ai/agent.ts';

// The AI SDK warns about every keyword that it leaves out of a schema.
vi.stubGlobal('AI_SDK_LOG_WARNINGS', false);

/** `toLangChainTools` with LangGraph's own ToolNode. */
const runToolNode = async (question: string): Promise<string> => {
  const recourse = createRecourse({ url: process.env['RECOURSE_URL'] ?? '' });
  const tools = await toLangChainTools(recourse, recourse.session(crypto.randomUUID()));
  const llm = new ChatOpenAI({ model: 'gpt-4.1', configuration: { baseURL: process.env['OPENAI_BASE_URL'] } });
  const { messages } = await createReactAgent({ llm, tools }).invoke({ messages: [new HumanMessage(question)] });
  return messages.at(-1)?.text ?? '';
};

const runToldLaterToEnd = async (question: string): Promise<string> => {
  const said: string[] = [];
  await runToldLater(question, (text) => void said.push(text));
  return said.join('\n');
};

type Row = readonly [string, () => Provider, (question: string) => Promise<string>];

const RUNTIMES: readonly Row[] = [
  ['examples/openai/agent.ts', () => openaiChat, runChat],
  ['examples/openai/responses.ts', createOpenaiResponses, runResponses],
  ['examples/openai/run-tools.ts', () => openaiChat, runRunTools],
  ['examples/anthropic/agent.ts', createAnthropic, runAnthropic],
  ['examples/anthropic/tool-runner.ts', createAnthropic, runAnthropicToolRunner],
  ['examples/gemini/agent.ts', () => createGemini({ generation: 3 }), runGemini],
  ['examples/vercel-ai/agent.ts, toAiSdkTools', createOpenaiResponses, runAiSdk],
  ['examples/openai-agents/agent.ts, toOpenAiAgentsTools', createOpenaiResponses, runAgentsSdk],
  ['examples/langgraph/agent.ts', createOpenaiResponses, runLangGraph],
  ['examples/background/parks.ts', createOpenaiResponses, runParks],
  ['examples/background/told-later.ts', () => openaiChat, runToldLaterToEnd],
  ['toLangChainTools with a ToolNode', () => openaiChat, runToolNode],
];

const MOST_ROUNDS = 4;

/** A model that orders all items at once, makes each call again that failed, under a new id, and gives up after four rounds. */
const createModel =
  (items: readonly string[]) =>
  ({ rounds }: Conversation): ModelTurn => {
    const wanted = rounds.reduce<readonly string[]>(
      (left, round) => left.filter((_item, place) => round[place]?.text.includes('ERROR') === true),
      items,
    );
    if (wanted.length === 0) return { text: 'Everything is ordered.' };
    if (rounds.length === MOST_ROUNDS) return { text: 'I cannot tell what was ordered.' };
    const toCall = (item: string) => ({
      id: `call_${rounds.length}_${item}`,
      ...{ name: 'place_order', arguments: { item } },
    });
    return { calls: wanted.map(toCall) };
  };

const ledger: string[] = [];
let service: RunningService;

beforeAll(async () => {
  const placeOrder = defineTool({
    ...{ name: 'place_order', description: 'Orders an item.', effects: 'write', input: z.object({ item: z.string() }) },
    run: ({ item }) => {
      ledger.push(item);
      return { ordered: item, place: ledger.length };
    },
  });
  service = await startService({}, [placeOrder]);
});
afterAll(() => service.stop());
afterEach(() => {
  ledger.splice(0);
  vi.unstubAllEnvs();
});

const play = async ([, createProvider, runAgent]: Row, lost: number, items: readonly string[]) => {
  const decide = createModel(items);
  const read: string[][] = [];
  const endpoint = await startProviderEndpoint(createProvider(), (conversation) => {
    read.splice(0, read.length, ...conversation.rounds.map((round) => round.map(({ text }) => text)));
    return decide(conversation);
  });
  const proxy = await startLosingProxy(service.url, lost);
  const environment = {
    ...{
      NODE_ENV: 'production',
      RECOURSE_URL: proxy.url,
      OPENAI_BASE_URL: `${endpoint.url}/v1`,
      OPENAI_API_KEY: 'key',
    },
    ...{ ANTHROPIC_BASE_URL: endpoint.url, ANTHROPIC_API_KEY: 'key' },
    ...{ GOOGLE_GEMINI_BASE_URL: endpoint.url, GEMINI_API_KEY: 'key' },
  };
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  try {
    const answer = await runAgent('Order a lamp and a chair.');
    return { answer, read, orders: ledger.toSorted(), keys: proxy.keys(), rejections: endpoint.rejections() };
  } finally {
    await endpoint.stop();
  }
};

const LOST =
  "ERROR: answer_lost: The answer to this call of 'place_order' was lost on its way. It may or may not have taken effect. Check before calling it again.";
const SETTLED =
  "The answer to your earlier call of 'place_order' with these arguments was lost. This is its result; it was not executed a second time.";

describe.each(RUNTIMES)('%s', (...runtime) => {
  test('a write whose first answer is lost happens once, and the model reads its result', async () => {
    const { answer, read, orders, keys, rejections } = await play(runtime, 1, ['lamp', 'chair']);
    expect({ answer, orders, rejections }).toEqual({
      answer: 'Everything is ordered.',
      orders: ['chair', 'lamp'],
      rejections: [],
    });
    expect(read).toHaveLength(1);
    for (const key of keys) expect(key).toMatch(/^[\w-]{43}$/);
  });

  test('a write whose first three answers are lost happens once, although the model makes the call again', async () => {
    const { answer, read, orders, rejections } = await play(runtime, 3, ['lamp']);
    expect({ answer, orders, rejections }).toEqual({
      answer: 'Everything is ordered.',
      orders: ['lamp'],
      rejections: [],
    });
    expect(read).toEqual([[expect.stringContaining(LOST)], [expect.stringContaining(SETTLED)]]);
  });

  test('when every answer is lost the model reads that it may have happened and must be checked, and the run ends with words', async () => {
    const { answer, read, orders, rejections } = await play(runtime, Infinity, ['lamp', 'chair']);
    expect({ answer, orders, rejections }).toEqual({
      answer: 'I cannot tell what was ordered.',
      orders: ['chair', 'lamp'],
      rejections: [],
    });
    expect(read).toHaveLength(MOST_ROUNDS);
    for (const text of read.flat()) expect(text).toContain(LOST);
  });
});
