import { randomUUID } from 'node:crypto';
import { AIMessage, type AIMessageChunk, type BaseMessage } from '@langchain/core/messages';
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { ChatOpenAI } from '@langchain/openai';

/** Answers with the tools that Recourse offers; a graph of two nodes is the loop. */
export const runAgent = async (question: string): Promise<string> => {
  const { tools } = await askRecourse('/tools?format=openai-chat');
  const { OPENAI_MODEL = 'gpt-5.6-luna', OPENAI_BASE_URL } = process.env;
  const model = new ChatOpenAI({ model: OPENAI_MODEL, configuration: { baseURL: OPENAI_BASE_URL } }).bindTools(tools);
  // Retry budgets are kept under it: one per run.
  const sessionId = randomUUID();
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('model', async ({ messages }) => ({ messages: [keepBroken(await model.invoke(messages))] }))
    .addNode('tools', async ({ messages }) => ({
      messages: await askRecourse(`/tool-calls?format=langchain&raw=true&session_id=${sessionId}`, messages.at(-1)),
    }))
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

const askRecourse = async (path: string, body?: unknown) => {
  const { RECOURSE_URL = 'http://127.0.0.1:8080', RECOURSE_API_KEY } = process.env;
  const answer = await fetch(new URL(path, RECOURSE_URL), {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      'content-type': 'application/json',
      ...(RECOURSE_API_KEY === undefined ? {} : { authorization: `Bearer ${RECOURSE_API_KEY}` }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!answer.ok) throw new Error(`Recourse answered ${answer.status}: ${await answer.text()}`);
  return JSON.parse(await answer.text());
};

if (import.meta.main) console.log(await runAgent(process.argv[2] ?? 'What is in notes.md?'));
