import { createHash } from 'node:crypto';
import { expectResults, post } from '@recourse/test-support/check-answer.ts';
import { openConnection, toPostText } from '@recourse/test-support/raw-http.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { defineTool } from '#src/tools/define-tool.ts';

const BYTES = 'recourse_request_memory_bytes';
const WAIT = { timeout: timeLimit(5000), interval: 20 };
const API_KEYS = ['a', 'b']
  .map((tenant) => `${tenant}=${createHash('sha256').update(`key-of-${tenant}`).digest('hex')}`)
  .join(',');
const keyOf = (tenant: string): readonly [string, string] => ['x-api-key', `key-of-${tenant}`];
// A caller gets 3 MiB, of which a batch needs 0.5 for its largest answer.
const LIMITS = { API_KEYS, MAX_RESULT_BYTES: '262144', MAX_ANSWER_BYTES: '262144', REQUEST_MEMORY_MB: '6' };

/** Tools that wait until the test lets them go, whatever their deadline says. */
const createWaiting = (background: 'never' | 'always') => {
  const { promise, resolve } = Promise.withResolvers<void>();
  let asked = 0;
  const tool = defineTool({
    name: 'waiting',
    description: 'Waits.',
    effects: 'read',
    background,
    input: z.object({ text: z.string().optional(), only: z.number().optional() }),
    run: async () => {
      asked += 1;
      await promise;
      return 'done';
    },
  });
  return { tool, release: () => resolve(), asked: () => asked };
};

const start = async (background: 'never' | 'always' = 'never') => {
  const { tool, ...waiting } = createWaiting(background);
  const service = await startService(LIMITS, [tool]);
  onTestFinished(async () => {
    waiting.release();
    expect(await service.metric('recourse_contract_violations_total')).toBe(0);
    await service.stop();
  });
  return { service, ...waiting };
};

const bodyOf = (call: object): string => JSON.stringify({ calls: [{ id: 'a', name: 'waiting', ...call }] });
const LARGE = bodyOf({ arguments: { text: 'x'.repeat(900_000) } });
const askAs = (service: RunningService, tenant: string, body: string, headers: Record<string, string> = {}) =>
  post(service.url, body, { ...Object.fromEntries([keyOf(tenant)]), ...headers });
const bytesOf = async (service: RunningService): Promise<number> => (await service.metric(BYTES)) ?? 0;

const countEnded = async (service: RunningService): Promise<number> => {
  const metrics = await (await fetch(`${service.url}/metrics`, { headers: Object.fromEntries([keyOf('b')]) })).text();
  return metrics.split('\n').filter((line) => /^recourse_tool_calls_total\{tool="waiting".* [1-9]/.test(line)).length;
};

test('a body that finds no room is refused before it is read, and another tenant is served', async () => {
  const { service, asked, release } = await start();
  const first = askAs(service, 'a', LARGE);
  await expect.poll(asked, WAIT).toBe(1);
  using second = await openConnection(service.port);
  // The head alone: nothing of the body is ever sent.
  second.write(toPostText(LARGE, [keyOf('a')]).split('\r\n\r\n')[0] ?? '');
  second.write('\r\n\r\n');
  const refused = await second.answer();
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '2']);
  expect(JSON.parse(refused.body)).toMatchObject({ code: 'overloaded' });
  expect(await service.metric('recourse_shed_total{reason="request_memory"}')).toBe(1);
  const echo = JSON.stringify({ calls: [{ id: 'e', name: 'echo', arguments: { text: 'hello' } }] });
  expect(expectResults(await askAs(service, 'b', echo), 1)[0]?.success).toBe(true);
  release();
  expect(expectResults(await first, 1)[0]?.success).toBe(true);
  await expect.poll(() => bytesOf(service), WAIT).toBe(0);
});

test.each(['reads its answer', 'goes away'])(
  'a body is held until the handler ends, also where its client %s',
  async (client) => {
    const { service, asked, release } = await start();
    using connection = await openConnection(service.port);
    const call = { arguments: { text: 'x'.repeat(900_000) }, timeout_ms: client === 'goes away' ? 30_000 : 200 };
    connection.write(toPostText(bodyOf(call), [keyOf('a')]));
    await expect.poll(asked, WAIT).toBe(1);
    if (client === 'goes away') connection.destroy();
    else
      expect(JSON.parse((await connection.answer()).body)).toMatchObject({ results: [{ error: { code: 'timeout' } }] });
    // The batch is over, and its handler goes on.
    await expect.poll(() => countEnded(service), WAIT).toBe(1);
    await expect.poll(() => bytesOf(service), WAIT).toBeLessThan(2_000_000);
    expect(await bytesOf(service)).toBeGreaterThan(900_000);
    release();
    await expect.poll(() => bytesOf(service), WAIT).toBe(0);
  },
);

test('a body in chunks is weighed as the largest one until it is there, and then as it is', async () => {
  const { service, asked } = await start();
  const body = bodyOf({ arguments: { text: 'x'.repeat(5000) } });
  using client = await openConnection(service.port);
  const head = `POST /tool-calls HTTP/1.1\r\nhost: localhost\r\nx-api-key: key-of-a\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`;
  client.write(head);
  await expect.poll(() => bytesOf(service), WAIT).toBeGreaterThan(2_000_000);
  client.write(`${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`);
  await expect.poll(asked, WAIT).toBe(1);
  expect(await bytesOf(service)).toBeLessThan(60_000);
});

test.each([
  ['in the body', { arguments: `[${'{},'.repeat(99_000)}{}]` }, 'raw'],
  ['in a text of the body', { arguments: `{"text":[${'{},'.repeat(99_000)}{}]}` }, 'text'],
] as const)('what takes twenty times its text is weighed before it is parsed: %s', async (_, call, form) => {
  const { service, asked } = await start();
  const body = form === 'raw' ? `{"calls":[{"id":"a","name":"waiting","arguments":${call.arguments}}]}` : bodyOf(call);
  const answer = await askAs(service, 'a', body);
  if (form === 'raw') expect(answer.status).toBe(503);
  else
    expect(expectResults(answer, 1)[0]).toMatchObject({
      success: false,
      executed: 'no',
      error: { code: 'overloaded' },
    });
  expect(asked()).toBe(0);
  await expect.poll(() => bytesOf(service), WAIT).toBe(0);
});

test('small bodies that wait weigh what their values take, and the next one finds no room', async () => {
  const { service, asked, release } = await start();
  // 5,000 empty objects take 440 kB.
  const body = `{"calls":[{"id":"a","name":"waiting","arguments":{},"extra":[${'{},'.repeat(5000)}{}]}]}`;
  const answers = Array.from({ length: 12 }, () => askAs(service, 'a', body));
  await expect.poll(async () => asked() >= 5 && (await bytesOf(service)) / asked(), WAIT).toBeGreaterThan(450_000);
  release();
  const statuses = (await Promise.all(answers)).map(({ status }) => status).toSorted();
  expect([statuses.length, statuses[0], statuses.at(-1)]).toEqual([12, 200, 503]);
  await expect.poll(() => bytesOf(service), WAIT).toBe(0);
});

test('a pending call weighs with its id and name, and its caller is told of the memory, not of a number of calls', async () => {
  const { service, release } = await start('always');
  const begin = (only: number) =>
    askAs(
      service,
      'a',
      JSON.stringify({
        calls: [
          { id: `${only}${'x'.repeat(12_000)}`, name: 'waiting', arguments: { only, text: 'y'.repeat(300_000) } },
        ],
      }),
      { prefer: 'respond-async, wait=0' },
    );
  const codes: unknown[] = [];
  let message: string | undefined;
  for (let only = 0; only < 12; only += 1) {
    const answer = await begin(only);
    if (answer.status === 503) {
      codes.push(503);
      break;
    }
    const { results } = z
      .object({ results: z.array(z.object({ message: z.string(), error: z.object({ code: z.string() }).nullish() })) })
      .parse(JSON.parse(answer.body));
    codes.push(results[0]?.error?.code ?? answer.status);
    message = results[0]?.message;
    if (answer.status !== 202) break;
  }
  expect(codes.slice(0, 2)).toEqual([202, 202]);
  expect(['call_limit_exceeded', 503]).toContain(codes.at(-1));
  if (codes.at(-1) === 'call_limit_exceeded')
    expect(message).toMatch(/this caller's calls fill its part of the memory for requests, \d+\.\d MiB\./);
  const other = await askAs(service, 'b', bodyOf({ arguments: { only: 1 } }), { prefer: 'respond-async, wait=0' });
  expect(other.status).toBe(202);
  release();
  await expect.poll(() => bytesOf(service), { ...WAIT, timeout: timeLimit(15_000) }).toBe(0);
});
