import { randomUUID } from 'node:crypto';
import OpenAI from 'openai';

const MAX_TURNS = 20;

/** Lets the model go on while calls outlive their request, and tells it of each end in a later turn. */
export const runAgent = async (question: string, say: (text: string) => void): Promise<void> => {
  const openai = new OpenAI(); // OPENAI_API_KEY, OPENAI_BASE_URL
  const model = process.env['OPENAI_MODEL'] ?? 'gpt-5.6-luna';
  const { tools } = (await askRecourse('/tools?format=openai-chat')).body;
  // Retry budgets are kept under it: one per run.
  const sessionId = randomUUID();
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: question }];
  const pending = new Set<string>();

  for (let turn = 0; turn < MAX_TURNS; turn += 1) {
    const completion = await openai.chat.completions.create({ model, messages, tools });
    const message = completion.choices[0]?.message;
    if (message === undefined) throw new Error('The model gave no message.');
    messages.push(message);
    if (message.tool_calls?.length) {
      messages.push(...(await execute(message, sessionId, pending)));
      continue;
    }
    say(message.content ?? '');
    if (pending.size === 0) return;
    messages.push(...(await toLateMessages(pending)));
  }
  throw new Error(`The run is not over after ${MAX_TURNS} turns.`);
};

/** Gives each call its answer, a pending one too: providers refuse a conversation that misses one. */
const execute = async (message: unknown, sessionId: string, pending: Set<string>) => {
  const path = `/tool-calls?format=openai-chat&session_id=${sessionId}`;
  const { status, location, body } = await askRecourse(path, message);
  if (status === 202) pending.add(location);
  return body.messages;
};

/** Waits for the first batch to end, and gives what the model is told of it; the others stay pending. */
const toLateMessages = async (pending: Set<string>): Promise<OpenAI.ChatCompletionMessageParam[]> => {
  for (;;) {
    for (const location of pending) {
      const { status, body } = await askRecourse(`${location}?format=openai-chat&raw=true&wait_ms=2000`);
      if (status !== 200) continue;
      pending.delete(location);
      return body;
    }
  }
};

const askRecourse = async (path: string, message?: unknown) => {
  const { RECOURSE_URL = 'http://127.0.0.1:8080', RECOURSE_API_KEY } = process.env;
  const answer = await fetch(new URL(path, RECOURSE_URL), {
    method: message === undefined ? 'GET' : 'POST',
    headers: {
      'content-type': 'application/json',
      ...(message === undefined ? {} : { prefer: 'respond-async' }),
      ...(RECOURSE_API_KEY === undefined ? {} : { authorization: `Bearer ${RECOURSE_API_KEY}` }),
    },
    ...(message === undefined ? {} : { body: JSON.stringify(message) }),
  });
  if (!answer.ok) throw new Error(`Recourse answered ${answer.status}: ${await answer.text()}`);
  const location = answer.headers.get('location') ?? '';
  return { status: answer.status, location, body: JSON.parse(await answer.text()) };
};

if (import.meta.main) await runAgent(process.argv[2] ?? 'Deploy it.', console.log);
