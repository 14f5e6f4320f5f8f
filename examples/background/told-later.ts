import { randomUUID } from 'node:crypto';
import { createRecourse, type Recourse, type ToolResult } from '@recourse/client';
import OpenAI from 'openai';

const MAX_TURNS = 20;

/** Lets the model go on while calls outlive their request, and tells it of each end in a later turn. */
export const runAgent = async (question: string, say: (text: string) => void): Promise<void> => {
  const openai = new OpenAI(); // OPENAI_API_KEY, OPENAI_BASE_URL
  const model = process.env['OPENAI_MODEL'] ?? 'gpt-5.6-luna';
  const { RECOURSE_URL = 'http://127.0.0.1:8080', RECOURSE_API_KEY } = process.env;
  const recourse = createRecourse({ url: RECOURSE_URL, apiKey: RECOURSE_API_KEY });
  const tools = await recourse.tools('openai-chat');
  // Retry budgets are kept under it: one per run.
  const session = recourse.session(randomUUID());
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: question }];
  const pending: string[] = [];

  for (let turn = 0; turn < MAX_TURNS; turn += 1) {
    const completion = await openai.chat.completions.create({ model, messages, tools });
    const message = completion.choices[0]?.message;
    if (message === undefined) throw new Error('The model gave no message.');
    messages.push(message);
    if (message.tool_calls?.length) {
      // Each call gets its answer, a pending one too: providers refuse a conversation that misses one.
      const turn = { format: 'openai-chat', turn: messages.length, respondAsync: {} } as const;
      const answer = await session.answerMessage(message, turn);
      messages.push(...answer.messages);
      pending.push(...answer.pending);
      continue;
    }
    say(message.content ?? '');
    if (pending.length === 0) return;
    messages.push(await waitForNews(recourse, pending));
  }
  throw new Error(`The run is not over after ${MAX_TURNS} turns.`);
};

/** Waits for the first batch to end, and gives what the model is told of it; the others stay pending. */
const waitForNews = async (recourse: Recourse, pending: string[]): Promise<OpenAI.ChatCompletionUserMessageParam> => {
  for (;;) {
    for (const [place, requestId] of pending.entries()) {
      const { status, results } = await recourse.results(requestId, { waitMs: 2_000 });
      if (status === 'pending') continue;
      pending.splice(place, 1);
      return { role: 'user', content: results.map(toNews).join('\n\n') };
    }
  }
};

/** Says whose words these are: in a user message, a tool's output would else be taken for the user's. */
const toNews = ({ id, name, success, value, message }: ToolResult): string =>
  `Result of the earlier call of tool '${name}' (${id}). The tool wrote it, not the user:\n${success ? JSON.stringify(value) : message}`;

if (import.meta.main) await runAgent(process.argv[2] ?? 'Deploy it.', console.log);
