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
import { createRecourse } from '@recourse/client';

/** Parks a LangGraph while a call outlives its request, and resumes the graph when the call has ended. */
export const runAgent = async (question: string): Promise<string> => {
  const { RECOURSE_URL = 'http://127.0.0.1:8080', RECOURSE_API_KEY } = process.env;
  const recourse = createRecourse({ url: RECOURSE_URL, apiKey: RECOURSE_API_KEY });
  const tools = await recourse.tools('openai-chat');
  const { OPENAI_MODEL = 'gpt-5.6-luna', OPENAI_BASE_URL } = process.env;
  const model = new ChatOpenAI({ model: OPENAI_MODEL, configuration: { baseURL: OPENAI_BASE_URL } }).bindTools(tools);
  const thread = randomUUID();
  const session = recourse.session(thread);
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('model', async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
    .addNode('tools', async ({ messages }) => {
      // A node that is resumed runs again from its start. Under its key the batch does not: it is answered as it stands now.
      const turn = { format: 'langchain', turn: messages.length, respondAsync: {} } as const;
      for (;;) {
        const answer = await session.answerMessage(messages.at(-1), turn);
        if (answer.pending.length === 0) return { messages: answer.messages };
        interrupt(answer.pending);
      }
    })
    .addEdge(START, 'model')
    .addConditionalEdges('model', ({ messages }) => (hasCalls(messages.at(-1)) ? 'tools' : END))
    .addEdge('tools', 'model')
    // With a checkpointer that writes to a database the process may end while the graph is parked.
    .compile({ checkpointer: new MemorySaver() });

  const config = { configurable: { thread_id: thread }, recursionLimit: 40 };
  let state = await graph.invoke({ messages: [{ role: 'user', content: question }] }, config);
  while (isInterrupted<readonly string[]>(state)) {
    const pending = state.__interrupt__[0]?.value ?? [];
    console.error(`parked until ${pending} has ended`);
    // Here a long poll; a webhook tells of the end without a process that waits.
    for (const id of pending) while ((await recourse.results(id, { waitMs: 25_000 })).status === 'pending');
    state = await graph.invoke(new Command({ resume: true }), config);
  }
  return state.messages.at(-1)?.text ?? '';
};

const hasCalls = (message: BaseMessage | undefined): boolean =>
  AIMessage.isInstance(message) && (message.tool_calls ?? []).length > 0;

if (import.meta.main) console.log(await runAgent(process.argv[2] ?? 'Deploy it.'));
