import { randomUUID } from 'node:crypto';
import Anthropic from '@anthropic-ai/sdk';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';
import { ToolError } from '@anthropic-ai/sdk/lib/tools/ToolError';
import { createRecourse } from '@recourse/client';

/** Answers with the tools that Recourse offers; the client's own `toolRunner` runs the loop. */
export const runAgent = async (question: string): Promise<string> => {
  const { RECOURSE_URL = 'http://127.0.0.1:8080', RECOURSE_API_KEY } = process.env;
  const recourse = createRecourse({ url: RECOURSE_URL, apiKey: RECOURSE_API_KEY });
  const anthropic = new Anthropic(); // ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL
  const tools = await recourse.tools('anthropic');
  // Retry budgets are kept under it: one per run.
  const session = recourse.session(randomUUID());
  let roundId = '';
  const runner = anthropic.beta.messages.toolRunner({
    model: process.env['ANTHROPIC_MODEL'] ?? 'claude-sonnet-5-5',
    max_tokens: 4096,
    max_iterations: 20,
    messages: [{ role: 'user', content: question }],
    tools: tools.map(({ name, description, input_schema: inputSchema }) =>
      betaTool({ name, description, inputSchema, run: (input, use) => callTool(name, input, use?.toolUse.id) }),
    ),
  });
  const callTool = async (name: string, input: unknown, id?: string): Promise<string> => {
    const { text, isError } = await session.answerCall({ id, name, arguments: input }, { roundId });
    if (isError) throw new ToolError(text);
    return text;
  };
  let text = '';
  for await (const message of runner) {
    // The calls of one message are one round of the budget, although they are sent one by one.
    roundId = message.id;
    text = message.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
  }
  return text;
};

if (import.meta.main) console.log(await runAgent(process.argv[2] ?? 'What is in notes.md?'));
