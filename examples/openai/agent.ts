import { randomUUID } from 'node:crypto';
import OpenAI from 'openai';

const MAX_TURNS = 20;

/** Answers with the tools that Recourse offers, by chat completions. */
export const runAgent = async (question: string): Promise<string> => {
  const openai = new OpenAI(); // OPENAI_API_KEY, OPENAI_BASE_URL
  const model = process.env['OPENAI_MODEL'] ?? 'gpt-5.6-luna';
  const { tools } = await askRecourse('/tools?format=openai-chat&strict=true');
  // Retry budgets are kept under it: one per run.
  const sessionId = randomUUID();
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: question }];

  for (let turn = 0; turn < MAX_TURNS; turn += 1) {
    const completion = await openai.chat.completions.create({ model, messages, tools });
    const message = completion.choices[0]?.message;
    if (message === undefined) throw new Error('The model gave no message.');
    messages.push(message);
    if (message.tool_calls === undefined) return message.content ?? '';
    messages.push(...(await askRecourse(`/tool-calls?format=openai-chat&raw=true&session_id=${sessionId}`, message)));
  }
  throw new Error(`No answer after ${MAX_TURNS} turns.`);
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
