import { randomUUID } from 'node:crypto';
import { createOpenAI } from '@ai-sdk/openai';
import { createRecourse, type ToolPending } from '@recourse/client';
import { toAiSdkTools } from '@recourse/client/ai-sdk';
import { generateText, stepCountIs } from 'ai';

/** `generateText` runs the loop; a call that needs an approval waits for the person, and the loop goes on with what was decided. */
export const runAgent = async (question: string, tell: (text: string) => void): Promise<string> => {
  const { RECOURSE_URL = 'http://127.0.0.1:8080', RECOURSE_API_KEY } = process.env;
  const recourse = createRecourse({ url: RECOURSE_URL, apiKey: RECOURSE_API_KEY });
  // Retry budgets are kept under it: one per run.
  const session = recourse.session(randomUUID(), {
    // The model reads how a call ended, and nothing before. A person has half an hour unless the rule says otherwise: wait longer.
    wait: 'all',
    timeoutMs: 35 * 60_000,
    onApproval: (call) => tell(toNotice(call)),
  });
  const openai = createOpenAI(); // OPENAI_API_KEY, OPENAI_BASE_URL; any other provider of the AI SDK will do
  const { text } = await generateText({
    model: openai(process.env['OPENAI_MODEL'] ?? 'gpt-5.6-luna'),
    prompt: question,
    tools: await toAiSdkTools(recourse, session),
    stopWhen: stepCountIs(20),
  });
  return text;
};

/** What a person is told, who decides at the service: in its console, or by its API. This program only waits. */
const toNotice = ({ name, pending: { approval } }: ToolPending): string =>
  `'${name}' waits for a person: ${approval?.summary}. Decide ${approval?.url ?? approval?.id} until ${approval?.expires_at}.`;

if (import.meta.main) console.log(await runAgent(process.argv[2] ?? 'Refund order 7.', console.error));
