import { randomUUID } from 'node:crypto';
import { AIMessage, type BaseMessage } from '@langchain/core/messages';
import {
  Command,
  END,
  interrupt,
  isInterrupted,
  MemorySaver,
  MessagesAnnotation,
  START,
  StateGraph,
} from '@langchain/langgraph';
import { ChatOpenAI } from '@langchain/openai';

/** Parks a LangGraph while a call outlives its request, and resumes the graph when the call has ended. */
export const runAgent = async (question: string): Promise<string> => {
  const { tools } = (await askRecourse('/tools?format=openai-chat')).body;
  const { OPENAI_MODEL = 'gpt-5.6-luna', OPENAI_BASE_URL } = process.env;
  const model = new ChatOpenAI({ model: OPENAI_MODEL, configuration: { baseURL: OPENAI_BASE_URL } }).bindTools(tools);
  const thread = randomUUID();
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('model', async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
    .addNode('tools', async ({ messages }) => {
      // A node that is resumed runs again from its start. Under its key the batch does not: it is answered as it stands now.
      const key = `${thread}-${messages.length}`;
      for (;;) {
        const path = `/tool-calls?format=langchain&session_id=${thread}`;
        const { status, location, body } = await askRecourse(path, messages.at(-1), key);
        if (status === 200) return { messages: body.messages };
        interrupt({ location });
      }
    })
    .addEdge(START, 'model')
    .addConditionalEdges('model', ({ messages }) => (hasCalls(messages.at(-1)) ? 'tools' : END))
    .addEdge('tools', 'model')
    // With a checkpointer that writes to a database the process may end while the graph is parked.
    .compile({ checkpointer: new MemorySaver() });

  const config = { configurable: { thread_id: thread }, recursionLimit: 40 };
  let state = await graph.invoke({ messages: [{ role: 'user', content: question }] }, config);
  while (isInterrupted(state)) {
    const { location } = Object(state.__interrupt__[0]?.value);
    console.error(`parked until ${location} has ended`);
    await untilEnded(location);
    state = await graph.invoke(new Command({ resume: true }), config);
  }
  return state.messages.at(-1)?.text ?? '';
};

/** Here a long poll; a webhook tells of the end without a process that waits. */
const untilEnded = async (location: string): Promise<void> => {
  while ((await askRecourse(`${location}?wait_ms=25000`)).status === 202);
};

const hasCalls = (message: BaseMessage | undefined): boolean =>
  AIMessage.isInstance(message) && (message.tool_calls ?? []).length > 0;

const askRecourse = async (path: string, message?: unknown, key?: string) => {
  const { RECOURSE_URL = 'http://127.0.0.1:8080', RECOURSE_API_KEY } = process.env;
  const answer = await fetch(new URL(path, RECOURSE_URL), {
    method: message === undefined ? 'GET' : 'POST',
    headers: {
      'content-type': 'application/json',
      ...(key === undefined ? {} : { 'idempotency-key': key, prefer: 'respond-async' }),
      ...(RECOURSE_API_KEY === undefined ? {} : { authorization: `Bearer ${RECOURSE_API_KEY}` }),
    },
    ...(message === undefined ? {} : { body: JSON.stringify(message) }),
  });
  if (!answer.ok) throw new Error(`Recourse answered ${answer.status}: ${await answer.text()}`);
  const location = answer.headers.get('location') ?? '';
  return { status: answer.status, location, body: JSON.parse(await answer.text()) };
};

if (import.meta.main) console.log(await runAgent(process.argv[2] ?? 'Deploy it.'));
