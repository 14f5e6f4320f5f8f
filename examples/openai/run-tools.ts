import { randomUUID } from 'node:crypto';
import { createRecourse } from '@recourse/client';
import OpenAI from 'openai';

/** Answers with the tools that Recourse offers; the client's own `runTools` runs the loop. */
export const runAgent = async (question: string): Promise<string> => {
  const { RECOURSE_URL = 'http://127.0.0.1:8080', RECOURSE_API_KEY } = process.env;
  const recourse = createRecourse({ url: RECOURSE_URL, apiKey: RECOURSE_API_KEY });
  const openai = new OpenAI(); // OPENAI_API_KEY, OPENAI_BASE_URL
  const tools = await recourse.tools('openai-chat');
  // Retry budgets are kept under it: one per run.
  const session = recourse.session(randomUUID());
  const runner = openai.chat.completions.runTools({
    model: process.env['OPENAI_MODEL'] ?? 'gpt-5.6-luna',
    messages: [{ role: 'user', content: question }],
    tools: tools.map((tool) => ({
      type: 'function',
      function: { ...tool.function, function: (given: string) => callTool(tool.function.name, given) },
    })),
  });
  const callTool = async (name: string, given: string): Promise<string> => {
    // The calls of one turn are one round of the budget, although they are sent one by one.
    const roundId = String(runner.messages.length);
    return (await session.answerCall({ name, arguments: given }, { roundId })).text;
  };
  return (await runner.finalContent()) ?? '';
};

if (import.meta.main) console.log(await runAgent(process.argv[2] ?? 'What is in notes.md?'));
