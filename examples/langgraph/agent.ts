import { randomUUID } from 'node:crypto';
import { AIMessage, type AIMessageChunk, type BaseMessage } from '@langchain/core/messages';
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { ChatOpenAI } from '@langchain/openai';
import { createRecourse } from '@recourse/client';

/** Answers with the tools that Recourse offers; a graph of two nodes is the loop. */
export const runAgent = async (question: string): Promise<string> => {
  const { RECOURSE_URL = 'http://127.0.0.1:8080', RECOURSE_API_KEY } = process.env;
  const recourse = createRecourse({ url: RECOURSE_URL, apiKey: RECOURSE_API_KEY });
  const tools = await recourse.tools('openai-chat');
  const { OPENAI_MODEL = 'gpt-5.6-luna', OPENAI_BASE_URL } = process.env;
  const model = new ChatOpenAI({ model: OPENAI_MODEL, configuration: { baseURL: OPENAI_BASE_URL } }).bindTools(tools);
  // Retry budgets are kept under it: one per run.
  const session = recourse.session(randomUUID());
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('model', async ({ messages }) => ({ messages: [keepBroken(await model.invoke(messages))] }))
    .addNode('tools', async ({ messages }) => {
      const turn = { format: 'langchain', turn: messages.length } as const;
      return { messages: (await session.answerMessage(messages.at(-1), turn)).messages };
    })
    .addEdge(START, 'model')
    .addConditionalEdges('model', ({ messages }) => (hasCalls(messages.at(-1)) ? 'tools' : END))
    .addEdge('tools', 'model')
    .compile();
  const { messages } = await graph.invoke({ messages: [{ role: 'user', content: question }] }, { recursionLimit: 40 });
  return messages.at(-1)?.text ?? '';
};

// Chat completions would leave out calls whose arguments are no JSON, and then refuse their answers.
const keepBroken = (message: AIMessageChunk) => {
  const { tool_calls: calls = [], invalid_tool_calls: broken = [] } = message;
  return Object.assign(message, { tool_calls: [...calls, ...broken], invalid_tool_calls: [] });
};

const hasCalls = (message: BaseMessage | undefined): boolean =>
  AIMessage.isInstance(message) && (message.tool_calls ?? []).length > 0;

if (import.meta.main) console.log(await runAgent(process.argv[2] ?? 'What is in notes.md?'));
