import { randomUUID } from 'node:crypto';
import { type Content, GoogleGenAI } from '@google/genai';
import { createRecourse } from '@recourse/client';

const MAX_TURNS = 20;

/** Answers with the tools that Recourse offers, by the Gemini API. */
export const runAgent = async (question: string): Promise<string> => {
  const { RECOURSE_URL = 'http://127.0.0.1:8080', RECOURSE_API_KEY } = process.env;
  const recourse = createRecourse({ url: RECOURSE_URL, apiKey: RECOURSE_API_KEY });
  const gemini = new GoogleGenAI({}); // GEMINI_API_KEY, GOOGLE_GEMINI_BASE_URL
  const model = process.env['GEMINI_MODEL'] ?? 'gemini-3.8-flash';
  const tools = await recourse.tools('gemini');
  // Retry budgets are kept under it: one per run.
  const session = recourse.session(randomUUID());
  const contents: Content[] = [{ role: 'user', parts: [{ text: question }] }];

  for (let turn = 0; turn < MAX_TURNS; turn += 1) {
    const response = await gemini.models.generateContent({ model, contents, config: { tools } });
    const content = response.candidates?.[0]?.content;
    if (content === undefined) throw new Error('The model gave no content.');
    contents.push(content);
    if (response.functionCalls === undefined) return response.text ?? '';
    const answer = await session.answerMessage(content, { format: 'gemini', turn: contents.length });
    contents.push(...answer.messages);
  }
  throw new Error(`No answer after ${MAX_TURNS} turns.`);
};

if (import.meta.main) console.log(await runAgent(process.argv[2] ?? 'What is in notes.md?'));
