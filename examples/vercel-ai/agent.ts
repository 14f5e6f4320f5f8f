import { randomUUID } from 'node:crypto';
import { createOpenAI } from '@ai-sdk/openai';
import { dynamicTool, generateText, jsonSchema, stepCountIs } from 'ai';

/** Answers with the tools that Recourse offers; the AI SDK's `generateText` runs the loop. */
export const runAgent = async (question: string): Promise<string> => {
  const openai = createOpenAI(); // OPENAI_API_KEY, OPENAI_BASE_URL; any other provider of the AI SDK will do
  const catalogue = await askRecourse('/tools?format=openai-chat');
  // Retry budgets are kept under it: one per run.
  const sessionId = randomUUID();
  const toTool = ({ function: { name, description, parameters } }: CatalogueTool) =>
    dynamicTool({
      description,
      inputSchema: jsonSchema(parameters),
      execute: async (input, { toolCallId, messages }) => {
        // The calls of one step are one round of the budget, although they are sent one by one.
        const path = `/tool-calls?format=openai-chat&raw=true&session_id=${sessionId}&round_id=${messages.length}`;
        const call = { id: toolCallId, type: 'function', function: { name, arguments: JSON.stringify(input) } };
        const [{ content }] = await askRecourse(path, [call]);
        return content;
      },
    });
  const { text } = await generateText({
    model: openai(process.env['OPENAI_MODEL'] ?? 'gpt-5.6-luna'),
    prompt: question,
    tools: Object.fromEntries(catalogue.tools.map((tool: CatalogueTool) => [tool.function.name, toTool(tool)])),
    stopWhen: stepCountIs(20),
  });
  return text;
};

type CatalogueTool = { function: { name: string; description: string; parameters: object } };

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
