import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { startLosingProxy } from '@recourse/test-support/losing-proxy.ts';
import { openaiChat } from '@recourse/test-support/providers/openai-chat.ts';
import type { Script } from '@recourse/test-support/providers/provider.ts';
import { startProviderEndpoint } from '@recourse/test-support/providers/provider-endpoint.ts';
import { cleanEnvironment, ROOT } from '@recourse/test-support/start-process.ts';
import { startService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { defineTool } from '#src/tools/define-tool.ts';
import { readCalls } from '../../../clients/typescript/src/read-calls.ts';
import { writeAnswers } from '../../../clients/typescript/src/write-answers.ts';
import { MESSAGES } from '../contract/answered-messages.ts';
import { readContract } from '../contract/contract-case.ts';

const PYTHONPATH = [join(ROOT, 'clients/python/src'), join(ROOT, 'test/clients/python/stand-ins')].join(':');

const PROGRAMS = [
  'examples/plain/agent.py',
  'examples/python/agent.py',
  'examples/python/pydantic_ai_agent.py',
  'examples/python/openai_agents_agent.py',
  'examples/background/waits.py',
];

/** A model that makes a call again, under a new id, as long as it reads that it failed; then it says what it read. */
const insistent: Script = ({ rounds }) => {
  const read = rounds.at(-1)?.[0]?.text ?? 'ERROR: not called yet';
  const call = { id: `call_${rounds.length}`, name: 'place_order', arguments: { item: 'tea', to: 'Zoë' } };
  return read.startsWith('ERROR') && rounds.length < 6 ? { calls: [call] } : { text: `I read: ${read}` };
};

/** Runs a program behind a proxy that loses answers; `orders` are those that were placed. */
const play = async (program: string, lose: number) => {
  const orders: string[] = [];
  const placeOrder = defineTool({
    ...{ name: 'place_order', description: 'Places an order.', effects: 'write' },
    input: z.object({ item: z.string(), to: z.string() }),
    run: ({ item }) => ({ number: orders.push(item) }),
  });
  const service = await startService({}, [placeOrder]);
  onTestFinished(service.stop);
  const proxy = await startLosingProxy(service.url, lose);
  const model = await startProviderEndpoint(openaiChat, insistent);
  onTestFinished(model.stop);
  const env = cleanEnvironment({
    ...{ RECOURSE_URL: proxy.url, OPENAI_BASE_URL: `${model.url}/v1`, OPENAI_API_KEY: 'key' },
    ...{ PYTHONPATH, PYTHONDONTWRITEBYTECODE: '1' },
  });
  const { stdout } = await promisify(execFile)('python3', [program, 'Order tea.'], { env, cwd: ROOT });
  return { orders, said: stdout, keys: proxy.keys(), lost: proxy.lost() };
};

// More than the four tries of the one without the client.
const LOSSES = [1, 3, 7];

test.for(PROGRAMS.flatMap((program) => LOSSES.map((lose) => [program, lose] as const)))(
  '%s places one order where the first %i answers are lost and its model repeats what failed, and ends with words',
  { timeout: timeLimit(30_000) },
  async ([program, lose]) => {
    const { orders, said, keys, lost } = await play(program, lose);
    expect({ orders, lost, keys: new Set(keys).size }).toEqual({ orders: ['tea'], lost: lose, keys: 1 });
    // The one without the client sends no key: the ids of its calls are.
    expect(keys[0]).toMatch(program === 'examples/plain/agent.py' ? /^undefined$/ : /^[\w-]{43}$/);
    expect(said).toMatch(/^I read: .*"number": ?1/s);
  },
);

test('each example in Python has at most 60 lines, and the one without the client 90', () => {
  for (const program of PROGRAMS.slice(1))
    expect(readFileSync(join(ROOT, program), 'utf8').split('\n').length, program).toBeLessThanOrEqual(61);
  expect(readFileSync(join(ROOT, 'examples/plain/agent.py'), 'utf8').split('\n').length).toBeLessThanOrEqual(91);
});

const PRINT = `
import json, sys
from recourse_client import _answers as answers
keys = json.load(sys.stdin)
print(json.dumps({
    "keys": {
        "call": [[session, id, answers.to_call_key(session, id)] for session, id, _ in keys["call"]],
        "turn": [[session, id, answers.to_turn_key(session, id)] for session, id, _ in keys["turn"]],
    },
    "texts": {
        "lost": answers.to_lost_text("{tool}"),
        "not_run": answers.to_not_run_text("{tool}", "{reason}"),
        "still_pending": answers.to_still_pending_text("{tool}"),
        "settled": answers.to_settled_text("{tool}", "{text}"),
    },
}))
`;

test('its keys and texts are those of the contract of all clients', () => {
  const { keys, texts } = readContract();
  const env = cleanEnvironment({ PYTHONPATH, PYTHONDONTWRITEBYTECODE: '1' });
  const { stdout } = spawnSync('python3', ['-c', PRINT], { env, input: JSON.stringify(keys), encoding: 'utf8' });
  expect(JSON.parse(stdout)).toEqual({ keys, texts });
});

const WRITE = `
import json, sys
from recourse_client import _messages as messages
print(json.dumps([
    [messages.write_answers(format, [(call, text, is_error) for call in messages.read_calls(message)])
     for text, is_error in [("It broke.", True), ("Done.", False)]]
    for _, format, message in json.load(sys.stdin)
]))
`;

test('it writes the answers that the client for TypeScript writes, in every format', () => {
  const env = cleanEnvironment({ PYTHONPATH, PYTHONDONTWRITEBYTECODE: '1' });
  const { stdout, stderr } = spawnSync('python3', ['-c', WRITE], {
    env,
    input: JSON.stringify(MESSAGES),
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  const expected = MESSAGES.map(([, format, message]) =>
    [
      { text: 'It broke.', isError: true },
      { text: 'Done.', isError: false },
    ].map((told) =>
      writeAnswers(
        format,
        readCalls(message).map((call) => ({ call, ...told })),
      ),
    ),
  );
  expect(JSON.parse(stdout)).toEqual(expected);
});

const INTERRUPTED = `
import sys
from recourse_client import Recourse
session = Recourse(sys.argv[1]).session("s")
try:
    session.answer_call("place_order", {"item": "tea"}, call_id="a", round_id="1")
except KeyboardInterrupt:
    print(session.answer_call("place_order", {"item": "tea"}, call_id="b", round_id="2").is_error)
`;

test('a call that its program interrupts is remembered: made again it is sent under its old key', async () => {
  const keys: unknown[] = [];
  const server = createServer((request, response) => {
    keys.push(request.headers['idempotency-key']);
    if (keys.length === 1) child.kill('SIGINT');
    else response.writeHead(503, { 'retry-after': '3600' }).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${z.object({ port: z.number() }).parse(server.address()).port}`;
  const env = cleanEnvironment({ PYTHONPATH, PYTHONDONTWRITEBYTECODE: '1' });
  const child = spawn('python3', ['-c', INTERRUPTED, url], { env });
  onTestFinished(() => void child.kill());
  expect(await text(child.stdout)).toBe('True\n');
  expect(keys).toHaveLength(2);
  expect(keys[1]).toBe(keys[0]);
});
