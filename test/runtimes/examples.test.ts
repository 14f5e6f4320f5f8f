import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { globSync, readFileSync } from 'node:fs';
import { createAnthropic } from '@recourse/test-support/providers/anthropic.ts';
import { createGemini } from '@recourse/test-support/providers/gemini.ts';
import { openaiChat } from '@recourse/test-support/providers/openai-chat.ts';
import { createOpenaiResponses } from '@recourse/test-support/providers/openai-responses.ts';
import type { Provider } from '@recourse/test-support/providers/provider.ts';
import { startProviderEndpoint } from '@recourse/test-support/providers/provider-endpoint.ts';
import { startService } from '@recourse/test-support/start-service.ts';
import { afterEach, expect, test } from 'vitest';

const EXAMPLES: readonly (readonly [string, () => Provider])[] = [
  ['examples/openai/agent.ts', () => openaiChat],
  ['examples/openai/responses.ts', createOpenaiResponses],
  ['examples/openai/run-tools.ts', () => openaiChat],
  ['examples/anthropic/agent.ts', createAnthropic],
  ['examples/anthropic/tool-runner.ts', createAnthropic],
  ['examples/gemini/agent.ts', () => createGemini({ generation: 3 })],
  ['examples/vercel-ai/agent.ts', createOpenaiResponses],
  ['examples/openai-agents/agent.ts', createOpenaiResponses],
  ['examples/langgraph/agent.ts', createOpenaiResponses],
];

const ending: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ending.splice(0)) await end();
});

test('Every example of a provider is run here, and has less than 60 lines', () => {
  const files = globSync('examples/{openai,anthropic,gemini,vercel-ai,openai-agents,langgraph}/*.ts');
  expect(files.toSorted()).toEqual(EXAMPLES.map(([file]) => file).toSorted());
  for (const file of files) expect(readFileSync(file, 'utf8').split('\n').length, file).toBeLessThan(60);
});

test.each(EXAMPLES)('%s answers on the command line, with a key for the service', async (file, createProvider) => {
  const service = await startService({ API_KEYS: `agent=${createHash('sha256').update(KEY).digest('hex')}` });
  ending.push(service.stop);
  const endpoint = await startProviderEndpoint(createProvider(), ({ question, rounds }) =>
    rounds.length === 0
      ? { calls: [{ id: 'call_1', name: 'echo', arguments: { text: question } }] }
      : { text: `It says ${rounds[0]?.[0]?.text}` },
  );
  ending.push(endpoint.stop);
  const outcome = await runProgram(file, 'Is it on?', {
    RECOURSE_URL: service.url,
    RECOURSE_API_KEY: KEY,
    OPENAI_BASE_URL: `${endpoint.url}/v1`,
    OPENAI_API_KEY: 'key',
    ANTHROPIC_BASE_URL: endpoint.url,
    ANTHROPIC_API_KEY: 'key',
    GOOGLE_GEMINI_BASE_URL: endpoint.url,
    GEMINI_API_KEY: 'key',
  });
  expect(outcome).toEqual({ code: 0, output: 'It says {"text":"Is it on?"}\n' });
});

const KEY = 'a-key-of-the-examples-0123456789';

const runProgram = async (file: string, question: string, environment: Readonly<Record<string, string>>) => {
  const { PATH = '' } = process.env;
  const child = spawn(process.execPath, ['--conditions=@recourse/source', file, question], {
    env: { PATH, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  ending.push(async () => void child.kill('SIGKILL'));
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk;
  });
  const [code] = await once(child, 'close');
  return { code, output };
};
