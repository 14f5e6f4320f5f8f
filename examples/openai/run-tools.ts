import { randomUUID } from 'node:crypto';
import OpenAI from 'openai';

/** Answers with the tools that Recourse offers; the client's own `runTools` runs the loop. */
export const runAgent = async (question: string): Promise<string> => {
  const openai = new OpenAI(); // OPENAI_API_KEY, OPENAI_BASE_URL
  const { tools } = await askRecourse('/tools?format=openai-chat');
  // Retry budgets are kept under it: one per run.
  const sessionId = randomUUID();
  const runner = openai.chat.completions.runTools({
    model: process.env['OPENAI_MODEL'] ?? 'gpt-5.6-luna',
    messages: [{ role: 'user', content: question }],
    tools: tools.map((tool: OpenAI.ChatCompletionFunctionTool) => ({
      type: 'function',
      function: { ...tool.function, function: (given: string) => callTool(tool.function.name, given) },
    })),
  });
  const callTool = async (name: string, given: string): Promise<string> => {
    // The calls of one turn are one round of the budget, although they are sent one by one.
    const path = `/tool-calls?format=openai-chat&raw=true&session_id=${sessionId}&round_id=${runner.messages.length}`;
    const [{ content }] = await askRecourse(path, [
      { id: randomUUID(), type: 'function', function: { name, arguments: given } },
    ]);
    return content;
  };
  return (await runner.finalContent()) ?? '';
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
