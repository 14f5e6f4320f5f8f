import { randomUUID } from 'node:crypto';
import { AIMessage, type BaseMessage } from '@langchain/core/messages';
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
    .addNode('model', async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
    .addNode('tools', async ({ messages }) => ({
      messages: await askRecourse(`/tool-calls?format=langchain&raw=true&session_id=${sessionId}`, {
        tool_calls: callsOf(messages),
      }),
    }))
    .addEdge(START, 'model')
    .addConditionalEdges('model', ({ messages }) => (callsOf(messages).length > 0 ? 'tools' : END))
    .addEdge('tools', 'model')
    .compile();
  const { messages } = await graph.invoke({ messages: [{ role: 'user', content: question }] }, { recursionLimit: 40 });
  return messages.at(-1)?.text ?? '';
};

const callsOf = (messages: readonly BaseMessage[]) => {
  const message = messages.at(-1);
  return AIMessage.isInstance(message) ? (message.tool_calls ?? []) : [];
};

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
