import { randomUUID } from 'node:crypto';
import { createOpenAI } from '@ai-sdk/openai';
import { createRecourse } from '@recourse/client';
import { toAiSdkTools } from '@recourse/client/ai-sdk';
import { generateText, stepCountIs } from 'ai';

/** Answers with the tools that Recourse offers; the AI SDK's `generateText` runs the loop. */
export const runAgent = async (question: string): Promise<string> => {
  const { RECOURSE_URL = 'http://127.0.0.1:8080', RECOURSE_API_KEY } = process.env;
  const recourse = createRecourse({ url: RECOURSE_URL, apiKey: RECOURSE_API_KEY });
  const openai = createOpenAI(); // OPENAI_API_KEY, OPENAI_BASE_URL; any other provider of the AI SDK will do
  // Retry budgets are kept under it: one per run.
  const session = recourse.session(randomUUID());
  const { text } = await generateText({
    model: openai(process.env['OPENAI_MODEL'] ?? 'gpt-5.6-luna'),
    prompt: question,
    tools: await toAiSdkTools(recourse, session),
    stopWhen: stepCountIs(20),
  });
  return text;
};

if (import.meta.main) console.log(await runAgent(process.argv[2] ?? 'What is in notes.md?'));
