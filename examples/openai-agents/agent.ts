import { randomUUID } from 'node:crypto';
import { Agent, OpenAIProvider, Runner } from '@openai/agents';
import { createRecourse } from '@recourse/client';
import { toOpenAiAgentsTools } from '@recourse/client/openai-agents';
import OpenAI from 'openai';

/** Answers with the tools that Recourse offers; the Agents SDK runs the loop. */
export const runAgent = async (question: string): Promise<string> => {
  const { RECOURSE_URL = 'http://127.0.0.1:8080', RECOURSE_API_KEY } = process.env;
  const recourse = createRecourse({ url: RECOURSE_URL, apiKey: RECOURSE_API_KEY });
  const openAIClient = new OpenAI(); // OPENAI_API_KEY, OPENAI_BASE_URL
  // Retry budgets are kept under it: one per run.
  const session = recourse.session(randomUUID());
  const tools = await toOpenAiAgentsTools(recourse, session);
  const agent = new Agent({ name: 'Agent', model: process.env['OPENAI_MODEL'] ?? 'gpt-5.6-luna', tools });
  // The SDK would send a trace of every run to OpenAI.
  const runner = new Runner({ modelProvider: new OpenAIProvider({ openAIClient }), tracingDisabled: true });
  // A tool name that does not exist would end the run.
  const limits = { maxTurns: 20, toolNotFoundBehavior: 'return_error_to_model' } as const;
  const result = await runner.run(agent, question, limits);
  return result.finalOutput ?? '';
};

if (import.meta.main) console.log(await runAgent(process.argv[2] ?? 'What is in notes.md?'));
