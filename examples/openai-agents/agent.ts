import { randomUUID } from 'node:crypto';
import { Agent, OpenAIProvider, type RunContext, Runner, tool } from '@openai/agents';
import OpenAI from 'openai';

/** Answers with the tools that Recourse offers; the Agents SDK runs the loop. */
export const runAgent = async (question: string): Promise<string> => {
  const openAIClient = new OpenAI(); // OPENAI_API_KEY, OPENAI_BASE_URL
  const { tools } = await askRecourse('/tools?format=openai-responses');
  // Retry budgets are kept under it: one per run.
  const sessionId = randomUUID();
  const offered = [];
  for (const { name, description, parameters } of tools) {
    const execute = async (_input: unknown, context?: RunContext, details?: { toolCall?: unknown }) => {
      // The calls of one turn are one round of the budget, although they are sent one by one.
      const roundId = context?.usage.requests;
      const path = `/tool-calls?format=openai-responses&raw=true&session_id=${sessionId}&round_id=${roundId}`;
      const [{ output }] = await askRecourse(path, [details?.toolCall]);
      return output;
    };
    offered.push(tool({ name, description, parameters, strict: false, execute }));
  }
  const agent = new Agent({ name: 'Agent', model: process.env['OPENAI_MODEL'] ?? 'gpt-5.6-luna', tools: offered });
  // The SDK would send a trace of every run to OpenAI.
  const runner = new Runner({ modelProvider: new OpenAIProvider({ openAIClient }), tracingDisabled: true });
  // A tool name that does not exist would end the run.
  const limits = { maxTurns: 20, toolNotFoundBehavior: 'return_error_to_model' } as const;
  const result = await runner.run(agent, question, limits);
  return result.finalOutput ?? '';
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
