import { randomUUID } from 'node:crypto';
import OpenAI from 'openai';

const MAX_TURNS = 20;

/** Answers with the tools that Recourse offers, by the Responses API. */
export const runAgent = async (question: string): Promise<string> => {
  const openai = new OpenAI(); // OPENAI_API_KEY, OPENAI_BASE_URL
  const model = process.env['OPENAI_MODEL'] ?? 'gpt-5.6-luna';
  const { tools } = await askRecourse('/tools?format=openai-responses&strict=true');
  // Retry budgets are kept under it: one per run.
  const sessionId = randomUUID();
  let input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: question }];
  let previous: string | null = null;

  for (let turn = 0; turn < MAX_TURNS; turn += 1) {
    const request = { model, input, tools, previous_response_id: previous };
    const response: OpenAI.Responses.Response = await openai.responses.create(request);
    if (!response.output.some(({ type }) => type === 'function_call')) return response.output_text;
    previous = response.id;
    input = await askRecourse(`/tool-calls?format=openai-responses&raw=true&session_id=${sessionId}`, response.output);
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
