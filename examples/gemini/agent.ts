import { randomUUID } from 'node:crypto';
import { type Content, GoogleGenAI } from '@google/genai';

const MAX_TURNS = 20;

/** Answers with the tools that Recourse offers, by the Gemini API. */
export const runAgent = async (question: string): Promise<string> => {
  const gemini = new GoogleGenAI({}); // GEMINI_API_KEY, GOOGLE_GEMINI_BASE_URL
  const model = process.env['GEMINI_MODEL'] ?? 'gemini-3.8-flash';
  const { tools } = await askRecourse('/tools?format=gemini');
  // Retry budgets are kept under it: one per run.
  const sessionId = randomUUID();
  const contents: Content[] = [{ role: 'user', parts: [{ text: question }] }];

  for (let turn = 0; turn < MAX_TURNS; turn += 1) {
    const response = await gemini.models.generateContent({ model, contents, config: { tools } });
    const content = response.candidates?.[0]?.content;
    if (content === undefined) throw new Error('The model gave no content.');
    contents.push(content);
    if (response.functionCalls === undefined) return response.text ?? '';
    contents.push(...(await askRecourse(`/tool-calls?format=gemini&raw=true&session_id=${sessionId}`, content)));
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
