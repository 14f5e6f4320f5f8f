import { answerOne, expectNoTrace, post } from '@recourse/test-support/check-answer.ts';
import { createMisbehavingTools, THROWN } from '@recourse/test-support/misbehaving-tools.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { defineTool } from '#src/tools/define-tool.ts';
import type { Tool } from '#src/tools/tool.ts';

const start = async (tools: readonly Tool[] = [], environment: Readonly<Record<string, string>> = {}) => {
  const service = await startService(environment, tools);
  onTestFinished(async () => {
    expect(await service.metric('recourse_contract_violations_total')).toBe(0);
    await service.stop();
  });
  return service;
};

/** The series of our own metrics, without their values, buckets and sums. */
const readSeries = async (service: RunningService): Promise<ReadonlySet<string>> => {
  const text = await (await fetch(`${service.url}/metrics`)).text();
  const lines = text.split('\n').filter((line) => line.startsWith('recourse_') && !/_(bucket|sum)\{?/.test(line));
  return new Set(lines.map((line) => line.slice(0, line.lastIndexOf(' '))));
};

const toMetric = (series: string): string => series.replace(/\{.*/, '');

test('ten thousand invented names leave at most one more series in each metric', async () => {
  const service = await start();
  await service.call([{ name: 'echo', arguments: { text: 'x' } }]);
  const before = await readSeries(service);
  const hostile = ['"} 1\n', '\u001b[31m', '{tool="echo"}', '__proto__', 'é', ' '];
  for (let batch = 0; batch < 157; batch += 1)
    await service.call(
      Array.from({ length: 64 }, (_, place) => ({ name: `${hostile[place % 6]}invented_${batch}_${place}` })),
    );
  const fresh = [...(await readSeries(service))].filter((series) => !before.has(series));
  const metrics = fresh.map(toMetric);
  expect(new Set(metrics).size).toBe(metrics.length);
  expect(fresh.join('\n')).not.toContain('invented');
  expect(
    await service.metric(
      'recourse_tool_calls_total{tool="_unknown",outcome="retry",code="unknown_tool",fault="caller"}',
    ),
  ).toBe(157 * 64);
});

test('paths, methods, keys, ids and sessions that callers choose are no labels', async () => {
  const service = await start();
  await post(service.url, '{"calls":[]}');
  await fetch(`${service.url}/nope`);
  await fetch(`${service.url}/tools/nope`);
  await readSeries(service);
  const before = await readSeries(service);
  for (let turn = 0; turn < 50; turn += 1) {
    await fetch(`${service.url}/nope/${turn}`);
    await fetch(`${service.url}/tools/nope_${turn}`);
    const body = JSON.stringify({ session_id: `s_${turn}`, round_id: `r_${turn}`, calls: [] });
    await post(service.url, body, { 'x-request-id': `request_id_${turn}_xxxxxxxx`, 'idempotency-key': `k_${turn}` });
  }
  expect([...(await readSeries(service))].filter((series) => !before.has(series))).toEqual([]);
});

const FORGED = '\n{"level":60,"msg":"owned"}\r\n\u001b[2J\u001b[31mowned\u2028';

const talkative = defineTool({
  name: 'talkative',
  description: 'Logs and throws what it was given.',
  effects: 'read',
  input: z.object({ text: z.string() }),
  run: ({ text }, { log }) => {
    const loop: Record<string, unknown> = { text, big: 1n };
    loop['self'] = loop;
    log.warn('talk', { [text]: text, loop });
    throw new Error(text);
  },
});

test('names, ids and texts with line breaks and ANSI codes forge no line of the log', async () => {
  const service = await start([talkative]);
  await answerOne(service, { id: FORGED, name: 'talkative', arguments: { text: FORGED } });
  await answerOne(service, { id: FORGED, name: FORGED, arguments: FORGED });
  await answerOne(service, { name: 'talkative', arguments: { [FORGED]: FORGED } });
  await post(service.url, JSON.stringify({ session_id: FORGED, calls: [{ name: 'echo' }] }), { 'user-agent': 'x' });
  // Each line was parsed: one that was split in two would be no JSON.
  const lines = service.logLines();
  expect(lines.filter(({ level }) => level === 60)).toEqual([]);
  expect(lines.filter(({ msg }) => msg === 'owned')).toEqual([]);
  expect(lines.filter(({ msg }) => msg === 'talk')).toHaveLength(1);
  expect(lines.filter(({ msg }) => msg === 'tool call failed').map(({ tool }) => tool)).toEqual([
    'talkative',
    '_unknown',
    'talkative',
    'echo',
  ]);
});

test('a session id stands in no log line', async () => {
  const service = await start();
  const session = 'a-very-private-session';
  await answerOne(service, { name: 'nope' }, { session_id: session });
  expect(JSON.stringify(service.logLines())).not.toContain(session);
});

test('no body shows a stack, the log keeps it under the reference', async () => {
  const service = await start(createMisbehavingTools(), { MAX_BATCH_CALLS: '1024' });
  const calls = Object.keys(THROWN).flatMap((thrown) => [
    { name: `throws_${thrown}` },
    { name: `throws_${thrown}_write` },
  ]);
  const answer = await post(service.url, JSON.stringify({ calls }));
  expect(answer.status).toBe(200);
  expectNoTrace(answer.body);
  const { error } = await answerOne(service, { name: 'throws_own_error' });
  const line = service.logLines().find(({ reference }) => reference === error?.reference);
  expect(line).toMatchObject({ level: 40, tool: 'throws_own_error', type: 'FileNotFoundError' });
  expect(JSON.stringify(line?.['causes'])).toMatch(/"at .*misbehaving-tools\.ts:\d+:\d+\)?"/);
});

test('no problem shows a stack', async () => {
  const service = await start();
  const bodies = ['{', '{}', '[', '{"calls":1}', '\0', 'x'.repeat(2_000_000)];
  for (const body of bodies) {
    const answer = await post(service.url, body);
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.status).toBeLessThan(500);
    expectNoTrace(answer.body);
  }
});

const SECRETS: readonly (readonly [secret: string, shown: string])[] = [
  ['postgres://bob:hunter2hunter2@db/x', 'postgres://[redacted]@db/x'],
  ['Authorization: Bearer abcdefghijklmnop', 'Authorization: Bearer [redacted]'],
  ['sk-abcdefghijklmnopqrstuvwx', '[redacted key]'],
  ['AKIAABCDEFGHIJKLMNOP', '[redacted key]'],
  ['eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl', '[redacted token]'],
  ['-----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----', '[redacted private key]'],
];

const leaky = defineTool({
  name: 'leaky',
  description: 'Throws what it was given, as its cause too.',
  effects: 'read',
  input: z.object({ text: z.string() }),
  run: ({ text }) => {
    throw Object.assign(new Error(text, { cause: new Error(`because of ${text}`) }), { hint: text });
  },
});

test.each(SECRETS)('%j in an error is shown by nobody', async (secret, shown) => {
  const service = await start([leaky]);
  const result = await answerOne(service, { name: 'leaky', arguments: { text: secret } });
  expect(result.message).toBe(`Error: ${shown} (because of ${shown})`);
  expect(result.error?.hint).toBe(shown);
  expect(JSON.stringify(service.logLines())).not.toContain(JSON.stringify(secret).slice(1, -1));
});

test('a secret at the place where the log cuts a text does not show its first half', async () => {
  const service = await start([leaky]);
  const text = `${'x'.repeat(975)} https://bob:hunter2hunter2hunter2@db.example.com/`;
  await answerOne(service, { name: 'leaky', arguments: { text } });
  expect(JSON.stringify(service.logLines())).not.toContain('hunter2');
});
