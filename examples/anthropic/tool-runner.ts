import { randomUUID } from 'node:crypto';
import Anthropic from '@anthropic-ai/sdk';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';
import { ToolError } from '@anthropic-ai/sdk/lib/tools/ToolError';

/** Answers with the tools that Recourse offers; the client's own `toolRunner` runs the loop. */
export const runAgent = async (question: string): Promise<string> => {
  const anthropic = new Anthropic(); // ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL
  const { tools } = await askRecourse('/tools?format=anthropic');
  // Retry budgets are kept under it: one per run.
  const sessionId = randomUUID();
  let roundId = '';
  const runner = anthropic.beta.messages.toolRunner({
    model: process.env['ANTHROPIC_MODEL'] ?? 'claude-sonnet-5-5',
    max_tokens: 4096,
    max_iterations: 20,
    messages: [{ role: 'user', content: question }],
    tools: tools.map(({ name, description, input_schema: inputSchema }: OfferedTool) =>
      betaTool({ name, description, inputSchema, run: async (_input, context) => callTool(context?.toolUse) }),
    ),
  });
  const callTool = async (toolUse: unknown): Promise<string> => {
    const path = `/tool-calls?format=anthropic&raw=true&session_id=${sessionId}&round_id=${roundId}`;
    const [{ content }] = await askRecourse(path, [toolUse]);
    if (content[0].is_error) throw new ToolError(content[0].content);
    return content[0].content;
  };
  let text = '';
  for await (const message of runner) {
    // The calls of one message are one round of the budget, although they are sent one by one.
    roundId = message.id;
    text = message.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
  }
  return text;
};

type OfferedTool = { name: string; description: string; input_schema: { type: 'object' } };

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
