import { answerOne } from '@recourse/test-support/check-answer.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { defineTool } from '#src/tools/define-tool.ts';
import { UpstreamToolError } from '#src/tools/tool-errors.ts';
import { ok } from '#src/tools/tool-values.ts';
import { fail, fill, SECRET } from './secrets-lab.ts';

const LEAKS: ReadonlyMap<string, () => unknown> = new Map<string, () => unknown>([
  ['its message', () => fail(`it is ${SECRET}`)],
  ['its message, where that is cut', () => fail(`${fill(1985)}${SECRET}${fill(9000)}`)],
  ['a message that is cut twice', () => fail(`${`${SECRET} `.repeat(700)}`)],
  ['its message, behind frames', () => fail(`${'\n    at a (b.js:1:1)'.repeat(395)}\n${fill(90)}${SECRET}${SECRET}`)],
  ['its hint, where that is cut', () => fail('no', { hint: `${fill(984)}${SECRET}` })],
  ['its name', () => fail('no', { name: SECRET })],
  ['its cause', () => fail('no', { cause: new Error(SECRET) })],
  ['an object that it throws', () => Promise.reject({ it: `${fill(485)}${SECRET}` })],
  ['what it says beside its value', () => ok(1, `it is ${SECRET}`)],
  ['what it says beside its value, where that is cut', () => ok(1, `${fill(1984)}${SECRET}`)],
  ['a value', () => ({ [SECRET]: [`${SECRET}`] })],
  ['a value that is too large', () => `${fill(1984)}${SECRET}${fill(2_000_000)}`],
]);

const leak = defineTool({
  name: 'leak',
  description: 'Leaks in the way it is told.',
  effects: 'write',
  retries: 1000,
  input: z.object({ way: z.string() }),
  run: ({ way }) => LEAKS.get(way)?.(),
});

const say = defineTool({
  name: 'say',
  description: 'Says that it was asked too often.',
  effects: 'read',
  input: z.object({}),
  run: () =>
    Promise.reject(
      new UpstreamToolError('upstream_rate_limited', 'too often', { executed: 'no', retryAfterMs: 86_400_000 }),
    ),
});

const check = defineTool({
  name: 'check',
  description: 'Leaks while its arguments are checked.',
  effects: 'read',
  input: z.object({
    told: z.string().refine(() => false, { error: `${fill(285)}${SECRET}` }),
    n: z.number(),
  }),
  run: () => 1,
});

const start = async (): Promise<RunningService> => {
  const service = await startService({ CANARY_TOKEN: SECRET, MAX_RESULT_BYTES: '8000', SESSION_RETRIES: '1000' }, [
    leak,
    check,
  ]);
  onTestFinished(async () => {
    expect(await service.metric('recourse_contract_violations_total')).toBe(0);
    await service.stop();
  });
  return service;
};

/** What is seen of a service after one call, in a session of its own. */
const seenAfter = async (service: RunningService, call: object): Promise<string> => {
  const result = await answerOne(service, call, { session_id: 's' });
  const session = await (await fetch(`${service.url}/sessions/s`)).text();
  return `${JSON.stringify(result)}\n${session}\n${JSON.stringify(service.logLines())}`;
};

test.each([...LEAKS.keys()])(
  'a registered value shows nowhere when a tool that runs inside the service leaks it in %s',
  async (way) => {
    const seen = await seenAfter(await start(), { name: 'leak', arguments: { way } });
    expect(seen).toContain('[redacted]');
    expect(seen).not.toContain('kx3vQ');
  },
);

const LONG = `${fill(70)}${SECRET}`;

test.each([
  ['an id', { id: SECRET, name: 'leak', arguments: {} }],
  ['an id that the journal cuts', { id: `${fill(115)}${SECRET}`, name: 'leak', arguments: {} }],
  ['the name of no tool', { name: SECRET, arguments: {} }],
  ['the name of no tool, where that is cut', { name: LONG, arguments: {} }],
  ['a wrong argument, where that is cut', { name: 'check', arguments: { told: 1, n: LONG } }],
  ['a parameter that nobody asked for', { name: 'check', arguments: { told: 'x', n: 1, [`${fill(90)}${SECRET}`]: 1 } }],
  ['arguments that the journal cuts', { name: 'leak', arguments: { way: `${fill(175)}${SECRET}` } }],
])(
  'a registered value that is in %s comes back to its caller, and stands in no session and no log',
  async (_where, call) => {
    const service = await start();
    const result = JSON.stringify(await answerOne(service, call, { session_id: 's' }));
    const kept = `${await (await fetch(`${service.url}/sessions/s`)).text()}\n${JSON.stringify(service.logLines())}`;
    expect(result).not.toContain('[redacted]');
    expect(kept).not.toContain('kx3vQ');
  },
);

test('a registered value that a check of the schema tells shows nowhere', async () => {
  const seen = await seenAfter(await start(), { name: 'check', arguments: { told: 'x', n: 1 } });
  expect(seen).toContain('[redacted]');
  expect(seen).not.toContain('kx3vQ');
});

test('what the caller did not send is redacted beside what it sent', async () => {
  const service = await startWith({ CANARY_TOKEN: SECRET, OTHER_TOKEN: 'hz7wR42pYbL9' });
  SAID.set('both', { text: `${SECRET} hz7wR42pYbL9` });
  const { value } = await answerOne(service, { name: 'mirror', arguments: { of: 'both', sent: SECRET } });
  expect(value).toEqual({ text: `${SECRET} [redacted]` });
});

const mirror = defineTool({
  name: 'mirror',
  description: 'Says what it knows.',
  effects: 'read',
  input: z.object({ of: z.string(), sent: z.string().optional() }),
  run: ({ of }) => SAID.get(of),
});

// Not what the caller sends: that stays in its answer.
const SAID = new Map<string, object>();

const startWith = async (environment: Readonly<Record<string, string>>): Promise<RunningService> => {
  const service = await startService({ SESSION_RETRIES: '1000', ...environment }, [leak, mirror, say]);
  onTestFinished(async () => {
    expect(await service.metric('recourse_contract_violations_total')).toBe(0);
    await service.stop();
  });
  return service;
};

const ENTRIES = Array.from({ length: 400 }, (_, place) => ({
  name: `n${place * 7919}`,
  value: `v${place * 104_729}x`,
}));

test.each([
  ['Base64', Buffer.from('any key of many bytes. '.repeat(1500)).toString('base64')],
  ['JSON', JSON.stringify(ENTRIES)],
  ['other letters', 'секретныеслова'.repeat(400)],
])('a secret of many kilobytes of %s harms no call, and shows nowhere', async (_kind, large) => {
  const service = await startWith({ LARGE_KEY: large, CANARY_TOKEN: SECRET });
  const calls = [`{"name":"${SECRET}"}`, `it is ${large}`, 'nothing', JSON.stringify({ [large]: [large] })];
  const results = await service.call(
    calls.map((text, place) => {
      SAID.set(String(place), { text });
      return { name: 'mirror', arguments: { of: String(place) } };
    }),
    { session_id: 's' },
  );
  expect(results.map(({ value }) => value)).toEqual([
    { text: '{"name":"[redacted]"}' },
    { text: 'it is [redacted]' },
    { text: 'nothing' },
    { text: '{"[redacted]":["[redacted]"]}' },
  ]);
  const session = await (await fetch(`${service.url}/sessions/s`)).text();
  expect(JSON.parse(session)).toHaveProperty('calls.length', 4);
  const seen = `${session}\n${JSON.stringify(service.logLines())}`;
  for (const part of [SECRET, large.slice(0, 12), JSON.stringify(large).slice(1, 13)]) expect(seen).not.toContain(part);
});

test.each([
  'duration',
  'exception',
  'expected',
  'received',
  'internal',
  'retry_budget',
  'duplicate',
  'properties',
  'additional',
  '86400000',
  '_unknown',
])('a service whose secret is %j keeps its contract', async (word) => {
  const service = await startWith({ A_SECRET: word, B_PASSWORD: 'retry_after_ms' });
  const calls = [
    { id: 'a', name: 'say', arguments: {} },
    { id: 'a', name: 'leak', arguments: { way: 'its message' } },
    { name: 'leak', arguments: { way: 1 } },
    { name: 'no_such_tool', arguments: {} },
    { name: 'mirror', arguments: { of: 'word' } },
  ];
  SAID.set('word', { text: `it is ${word}` });
  const results = await service.call(calls, { session_id: 's' });
  expect(results.map(({ error }) => error?.code ?? null)).toEqual([
    'upstream_rate_limited',
    'tool_exception',
    'invalid_arguments',
    'unknown_tool',
    null,
  ]);
  expect(results[0]?.error?.retry_after_ms).toBe(86_400_000);
  expect(results[0]?.warnings?.map(({ code }) => code)).toEqual(['duplicate_id']);
  expect(results[2]?.error?.issues[0]).toMatchObject({ path: 'way' });
  expect(results[4]?.value).toEqual({ text: 'it is [redacted]' });
  const session: unknown = await (await fetch(`${service.url}/sessions/s`)).json();
  expect(session).toHaveProperty('calls.length', 5);
  expect(session).toHaveProperty('calls.1.code', 'tool_exception');
  const catalogue: unknown = await (await fetch(`${service.url}/tools/mirror`)).json();
  expect(catalogue).toMatchObject({ input_schema: { properties: { of: { type: 'string' } } } });
  expect(JSON.stringify(service.logLines())).not.toMatch(/"\w*_ms":"/);
});

test('a result in which a secret was found counts', async () => {
  const service = await start();
  await answerOne(service, { name: 'leak', arguments: { way: 'a value' } });
  expect(await service.metric('recourse_secrets_redacted_total{place="result"}')).toBe(1);
});
