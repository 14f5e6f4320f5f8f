import { randomUUID } from 'node:crypto';
import { createRecourse } from '@recourse/client';
import OpenAI from 'openai';

const MAX_TURNS = 20;

/** Answers with the tools that Recourse offers, by the Responses API. */
export const runAgent = async (question: string): Promise<string> => {
  const { RECOURSE_URL = 'http://127.0.0.1:8080', RECOURSE_API_KEY } = process.env;
  const recourse = createRecourse({ url: RECOURSE_URL, apiKey: RECOURSE_API_KEY });
  const openai = new OpenAI(); // OPENAI_API_KEY, OPENAI_BASE_URL
  const model = process.env['OPENAI_MODEL'] ?? 'gpt-5.6-luna';
  const tools = await recourse.tools('openai-responses', { strict: true });
  // Retry budgets are kept under it: one per run.
  const session = recourse.session(randomUUID());
  let input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: question }];
  let previous: string | null = null;

  for (let turn = 0; turn < MAX_TURNS; turn += 1) {
    const request = { model, input, tools, previous_response_id: previous };
    const response: OpenAI.Responses.Response = await openai.responses.create(request);
    if (!response.output.some(({ type }) => type === 'function_call')) return response.output_text;
    previous = response.id;
    const turn = { format: 'openai-responses', turn: response.id } as const;
    input = (await session.answerMessage(response.output, turn)).messages;
  }
  throw new Error(`No answer after ${MAX_TURNS} turns.`);
};

if (import.meta.main) console.log(await runAgent(process.argv[2] ?? 'What is in notes.md?'));
