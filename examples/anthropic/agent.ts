import { randomUUID } from 'node:crypto';
import Anthropic from '@anthropic-ai/sdk';

const MAX_TURNS = 20;

/** Answers with the tools that Recourse offers, by the Messages API. */
export const runAgent = async (question: string): Promise<string> => {
  const anthropic = new Anthropic(); // ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL
  const model = process.env['ANTHROPIC_MODEL'] ?? 'claude-sonnet-5-5';
  const { tools } = await askRecourse('/tools?format=anthropic');
  // Retry budgets are kept under it: one per run.
  const sessionId = randomUUID();
  const messages: Anthropic.MessageParam[] = [{ role: 'user', content: question }];

  for (let turn = 0; turn < MAX_TURNS; turn += 1) {
    const message = await anthropic.messages.create({ model, max_tokens: 4096, messages, tools });
    if (message.stop_reason !== 'tool_use')
      return message.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
    messages.push({ role: 'assistant', content: message.content });
    messages.push(...(await askRecourse(`/tool-calls?format=anthropic&raw=true&session_id=${sessionId}`, message)));
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
