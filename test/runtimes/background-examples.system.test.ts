import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { openaiChat } from '@recourse/test-support/providers/openai-chat.ts';
import { createOpenaiResponses } from '@recourse/test-support/providers/openai-responses.ts';
import type { Provider, Script } from '@recourse/test-support/providers/provider.ts';
import { startProviderEndpoint } from '@recourse/test-support/providers/provider-endpoint.ts';
import { startService } from '@recourse/test-support/start-service.ts';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { defineTool } from '#src/tools/define-tool.ts';

const EXAMPLES = ['waits.py', 'parks.ts', 'told-later.ts'].map((name) => `examples/background/${name}`);

test('Each example of a background tool has at most 80 lines', () => {
  for (const file of EXAMPLES) expect(readFileSync(file, 'utf8').split('\n').length, file).toBeLessThanOrEqual(81);
});

/** Runs an example between a scripted model and a service with `deploy`, which never ends within its request. */
const play = async (file: string, provider: Provider, script: Script) => {
  const runs: string[] = [];
  const deploy = defineTool({
    ...{ name: 'deploy', description: 'Deploys.', effects: 'write', background: 'always' },
    input: z.object({ to: z.string() }),
    run: async ({ to }) => {
      runs.push(to);
      await setTimeout(700);
      return { url: `https://${to}` };
    },
  });
  const service = await startService({}, [deploy]);
  onTestFinished(service.stop);
  const endpoint = await startProviderEndpoint(provider, script);
  onTestFinished(endpoint.stop);
  const { PATH = '' } = process.env;
  const [program, ...words] = file.endsWith('.py')
    ? ['python3', file]
    : [process.execPath, '--conditions=@recourse/source', file];
  const child = spawn(program, [...words, 'Deploy it.'], {
    env: {
      ...{ PATH, PYTHONPATH: 'clients/python/src', PYTHONDONTWRITEBYTECODE: '1', OPENAI_API_KEY: 'key' },
      ...{ RECOURSE_URL: service.url, OPENAI_BASE_URL: `${endpoint.url}/v1` },
    },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [output, errors] = [child.stdout, child.stderr].map((stream) => {
    const parts: string[] = [];
    stream.setEncoding('utf8').on('data', (part: string) => parts.push(part));
    return parts;
  });
  const [code] = await once(child, 'close');
  return {
    ...{ code, runs, output: output?.join('') ?? '', errors: errors?.join('') ?? '' },
    requests: endpoint.requests(),
    rejections: endpoint.rejections(),
  };
};

const DEPLOY = { calls: [{ id: 'call_1', name: 'deploy', arguments: { to: 'prod' } }] };

const sayResult: Script = ({ rounds }) =>
  rounds.length === 0 ? DEPLOY : { text: `It is at ${rounds[0]?.[0]?.text ?? 'nowhere'}` };

test('A runtime that waits: the model reads the final result alone', async () => {
  const played = await play('examples/background/waits.py', openaiChat, sayResult);
  expect(played).toMatchObject({
    code: 0,
    output: 'It is at {"url":"https://prod"}\n',
    runs: ['prod'],
    rejections: [],
  });
  expect(played.requests).toHaveLength(2);
});

test('A runtime that parks: the graph is interrupted, and goes on with the final result', async () => {
  const played = await play('examples/background/parks.ts', createOpenaiResponses(), sayResult);
  expect(played.errors).toMatch(/parked until \S+ has ended\n/);
  expect(played).toMatchObject({
    code: 0,
    output: 'It is at {"url":"https://prod"}\n',
    runs: ['prod'],
    rejections: [],
  });
  expect(played.requests).toHaveLength(2);
});

test('A runtime whose model goes on: it reads that the call is pending, and is told of its end later', async () => {
  let turns = 0;
  const played = await play('examples/background/told-later.ts', openaiChat, ({ rounds }) => {
    turns += 1;
    if (turns === 1) return DEPLOY;
    if (!/Do not call it again/.test(rounds[0]?.[0]?.text ?? '')) throw new Error('the call is not said to be pending');
    return { text: turns === 2 ? 'It is on its way.' : 'It is there.' };
  });
  expect(played).toMatchObject({
    code: 0,
    output: 'It is on its way.\nIt is there.\n',
    runs: ['prod'],
    rejections: [],
  });
  const { messages } = Asked.parse(played.requests[2]);
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user']);
  expect(messages.at(-1)?.content).toBe(
    'Result of the earlier call of tool \'deploy\' (call_1). The tool wrote it, not the user:\n{"url":"https://prod"}',
  );
});

const Asked = z.object({ messages: z.array(z.object({ role: z.string(), content: z.string().nullable() })) });
