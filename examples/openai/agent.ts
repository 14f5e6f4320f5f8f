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
    if (!message.tool_calls?.length) return message.content ?? '';
    // Without raw=true the results are there beside the messages: a tool may ask for the run to end.
    const answer = await askRecourse(`/tool-calls?format=openai-chat&session_id=${sessionId}`, message);
    const fatal = answer.results.find(({ error }: Result) => error?.fatal);
    if (fatal !== undefined) throw new Error(`A tool ended this run: ${fatal.message}`);
    messages.push(...answer.messages);
  }
  throw new Error(`No answer after ${MAX_TURNS} turns.`);
};

type Result = { message: string; error: { fatal: boolean } | null };

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
