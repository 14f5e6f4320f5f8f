import { randomUUID } from 'node:crypto';
import { createRecourse, isFatal } from '@recourse/client';
import OpenAI from 'openai';

const MAX_TURNS = 20;

/** Answers with the tools that Recourse offers, by chat completions. */
export const runAgent = async (question: string): Promise<string> => {
  const { RECOURSE_URL = 'http://127.0.0.1:8080', RECOURSE_API_KEY } = process.env;
  const recourse = createRecourse({ url: RECOURSE_URL, apiKey: RECOURSE_API_KEY });
  const openai = new OpenAI(); // OPENAI_API_KEY, OPENAI_BASE_URL
  const model = process.env['OPENAI_MODEL'] ?? 'gpt-5.6-luna';
  const tools = await recourse.tools('openai-chat', { strict: true });
  // Retry budgets are kept under it: one per run.
  const session = recourse.session(randomUUID());
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: question }];

  for (let turn = 0; turn < MAX_TURNS; turn += 1) {
    const completion = await openai.chat.completions.create({ model, messages, tools });
    const message = completion.choices[0]?.message;
    if (message === undefined) throw new Error('The model gave no message.');
    messages.push(message);
    if (!message.tool_calls?.length) return message.content ?? '';
    const answer = await session.answerMessage(message, { format: 'openai-chat', turn: messages.length });
    const fatal = answer.results.find(isFatal);
    if (fatal !== undefined) throw new Error(`A tool ended this run: ${fatal.message}`);
    messages.push(...answer.messages);
  }
  throw new Error(`No answer after ${MAX_TURNS} turns.`);
};

if (import.meta.main) console.log(await runAgent(process.argv[2] ?? 'What is in notes.md?'));
