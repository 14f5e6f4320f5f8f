import { execFile, spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { startLosingProxy } from '@recourse/test-support/losing-proxy.ts';
import { cleanEnvironment, ROOT } from '@recourse/test-support/start-process.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';

const EXAMPLES = join(ROOT, 'examples/plain');
// It is needed for nothing else: where it is missing, its example goes untested and the report says so.
const hasCurl = spawnSync('curl', ['--version']).status === 0;

const start = async (): Promise<RunningService> => {
  const service = await startService({ WORKSPACE_DIR: join(ROOT, 'examples/workspace') });
  onTestFinished(service.stop);
  return service;
};

/** stdout of a program; rejects with what it wrote where it fails. */
const run = async (command: string, words: readonly string[], settings: Readonly<Record<string, string>>) =>
  (await promisify(execFile)(command, words, { env: cleanEnvironment(settings) })).stdout;

const Asked = z.object({
  model: z.string(),
  tools: z.array(z.object({ type: z.literal('function'), function: z.looseObject({ name: z.string() }) })).min(1),
  messages: z.array(z.looseObject({ role: z.string(), content: z.string().nullable().optional() })),
});
type Asked = z.infer<typeof Asked>;

const callOf = (id: string, name: string, input: unknown) => ({
  id,
  type: 'function',
  function: { name, arguments: JSON.stringify(input) },
});

const TURNS = [
  {
    role: 'assistant',
    content: null,
    tool_calls: [callOf('c1', 'read_file', { path: 'note.md' }), callOf('c2', 'list_files', {})],
  },
  { role: 'assistant', content: null, tool_calls: [callOf('c3', 'read_file', { path: 'notes.md' })] },
  { role: 'assistant', content: 'They begin with a title.' },
];

/** A model behind OpenAI's chat API that says these turns one after the other, and what it was asked. */
const startModel = async () => {
  const asked: Asked[] = [];
  const answer = async (request: IncomingMessage): Promise<string> => {
    const message = TURNS[asked.push(Asked.parse(await json(request))) - 1];
    return JSON.stringify({ object: 'chat.completion', choices: [{ index: 0, message }] });
  };
  const server = createServer((request, response) => {
    answer(request).then(
      (text) => response.setHeader('content-type', 'application/json').end(text),
      (error: unknown) => response.writeHead(400).end(String(error)),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The model has no port.');
  return { url: `http://127.0.0.1:${address.port}/v1`, asked };
};

test.each([
  ['plain Python', join(EXAMPLES, 'agent.py')],
  ['Python with the client', join(ROOT, 'examples/python/agent.py')],
])('the agent in %s reads what a failure says and finishes', async (_name, program) => {
  const [service, model] = [await start(), await startModel()];
  const environment = {
    RECOURSE_URL: service.url,
    OPENAI_BASE_URL: model.url,
    OPENAI_API_KEY: 'none',
    OPENAI_MODEL: 'scripted',
    PYTHONPATH: join(ROOT, 'clients/python/src'),
  };
  const said = await run('python3', [program, 'What do the notes begin with?'], environment);
  expect(said).toBe('They begin with a title.\n');
  expect(model.asked.map(({ messages }) => messages.map(({ role }) => role))).toEqual([
    ['user'],
    ['user', 'assistant', 'tool', 'tool'],
    ['user', 'assistant', 'tool', 'tool', 'assistant', 'tool'],
  ]);
  const told = model.asked[2]?.messages.filter(({ role }) => role === 'tool') ?? [];
  expect(told.map((message) => message['tool_call_id'])).toEqual(['c1', 'c2', 'c3']);
  expect(told[0]?.content).toContain("Did you mean 'notes.md'?");
  expect(told[2]?.content).toContain('# ');
  expect(model.asked[0]?.model).toBe('scripted');
  expect(model.asked[0]?.tools.map((tool) => tool.function.name)).toContain('read_file');
});

const ASK = `
import json, sys
from urllib.error import HTTPError
sys.path.insert(0, sys.argv[1])
import agent
try:
    said = agent.ask(sys.argv[2], "", tries=8, timeout=30)
except HTTPError as refused:
    said = refused.code
print(json.dumps(said))
`;

test.each([
  ['Wed, 21 Oct 2015 07:28:00 GMT', 'tomorrow', 200],
  ['Fri, 31 Dec 9999 23:59:59 GMT', '99999999999', 503],
  ['²', '-5', 200],
])(
  'the agent in plain Python reads a Retry-After of %s and of %s, and waits no longer than for an answer',
  async (first, second, expected) => {
    const headers = [first, second];
    const server = createServer((_request, response) => {
      const retryAfter = headers.shift();
      if (retryAfter === undefined) response.end('200');
      else response.writeHead(503, { 'retry-after': retryAfter }).end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('The server has no port.');
    const url = `http://127.0.0.1:${address.port}`;
    const said = await run('python3', ['-c', ASK, EXAMPLES, url], { PYTHONDONTWRITEBYTECODE: '1' });
    expect(JSON.parse(said)).toBe(expected);
  },
);

test('the agent in plain Python says what the service refuses', async () => {
  const service = await startService({ API_KEYS: `acme=${hash('sha256', 'a-key-of-thirty-two-characters-x')}` });
  onTestFinished(service.stop);
  const environment = { RECOURSE_URL: service.url, RECOURSE_API_KEY: 'another', OPENAI_API_KEY: 'none' };
  const refused = run('python3', [join(EXAMPLES, 'agent.py')], environment);
  await expect(refused).rejects.toThrow(/HTTPError: HTTP Error 401: Unauthorized/);
});

test.skipIf(!hasCurl)(
  'the calls by curl are asked for again under their key, and the script says so where no answer comes',
  async () => {
    const { url } = await start();
    const send = async (lose: number): Promise<string> =>
      run('sh', [join(EXAMPLES, 'tool-calls.sh'), `key-${lose}`], {
        RECOURSE_URL: (await startLosingProxy(url, lose)).url,
      });
    expect(await send(1)).toContain('"replayed":true');
    await expect(send(3)).rejects.toThrow(/No answer came, and the calls may have run\./);
  },
);

test.skipIf(!hasCurl)('the calls by curl are answered, and run once for one key (needs curl)', async () => {
  const { url } = await start();
  const send = async (): Promise<readonly unknown[]> => {
    const said = await run('sh', [join(EXAMPLES, 'tool-calls.sh'), 'a-key'], { RECOURSE_URL: url });
    return said
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  };
  const [native, anthropic] = await send();
  expect(native).toMatchObject({
    session_id: 'plain',
    results: [
      { id: 'a', success: true, value: { content: expect.stringContaining('rain gauge') } },
      { id: 'b', success: false, outcome: 'retry' },
    ],
  });
  expect(anthropic).toMatchObject([{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1' }] }]);
  expect((await send())[0]).toMatchObject({ results: [{ replayed: true }, { replayed: true }] });
});
