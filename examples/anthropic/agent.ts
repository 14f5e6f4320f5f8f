import { randomUUID } from 'node:crypto';
import Anthropic from '@anthropic-ai/sdk';
import { createRecourse } from '@recourse/client';

const MAX_TURNS = 20;

/** Answers with the tools that Recourse offers, by the Messages API. */
export const runAgent = async (question: string): Promise<string> => {
  const { RECOURSE_URL = 'http://127.0.0.1:8080', RECOURSE_API_KEY } = process.env;
  const recourse = createRecourse({ url: RECOURSE_URL, apiKey: RECOURSE_API_KEY });
  const anthropic = new Anthropic(); // ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL
  const model = process.env['ANTHROPIC_MODEL'] ?? 'claude-sonnet-5-5';
  const tools = await recourse.tools('anthropic');
  // Retry budgets are kept under it: one per run.
  const session = recourse.session(randomUUID());
  const messages: Anthropic.MessageParam[] = [{ role: 'user', content: question }];

  for (let turn = 0; turn < MAX_TURNS; turn += 1) {
    const message = await anthropic.messages.create({ model, max_tokens: 4096, messages, tools });
    if (message.stop_reason !== 'tool_use')
      return message.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
    messages.push({ role: 'assistant', content: message.content });
    const answer = await session.answerMessage(message, { format: 'anthropic', turn: messages.length });
    messages.push(...answer.messages);
  }
  throw new Error(`No answer after ${MAX_TURNS} turns.`);
};

if (import.meta.main) console.log(await runAgent(process.argv[2] ?? 'What is in notes.md?'));
