import { randomUUID } from 'node:crypto';
import { Agent, OpenAIProvider, Runner } from '@openai/agents';
import { createRecourse, type ToolPending } from '@recourse/client';
import { toOpenAiAgentsTools } from '@recourse/client/openai-agents';
import OpenAI from 'openai';

/** The Agents SDK runs the loop; a call that needs an approval waits for the person, and the run goes on with what was decided. */
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
  const tools = await toOpenAiAgentsTools(recourse, session);
  const openAIClient = new OpenAI(); // OPENAI_API_KEY, OPENAI_BASE_URL
  const agent = new Agent({ name: 'Agent', model: process.env['OPENAI_MODEL'] ?? 'gpt-5.6-luna', tools });
  // The SDK would send a trace of every run to OpenAI.
  const runner = new Runner({ modelProvider: new OpenAIProvider({ openAIClient }), tracingDisabled: true });
  const result = await runner.run(agent, question, { maxTurns: 20, toolNotFoundBehavior: 'return_error_to_model' });
  return result.finalOutput ?? '';
};

/** What a person is told, who decides at the service: in its console, or by its API. This program only waits. */
const toNotice = ({ name, pending: { approval } }: ToolPending): string =>
  `'${name}' waits for a person: ${approval?.summary}. Decide ${approval?.url ?? approval?.id} until ${approval?.expires_at}.`;

if (import.meta.main) console.log(await runAgent(process.argv[2] ?? 'Refund order 7.', console.error));
