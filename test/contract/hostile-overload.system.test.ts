import { createHash } from 'node:crypto';
import { expectProblem, expectResults, post } from '@recourse/test-support/check-answer.ts';
import { toolThat } from '@recourse/test-support/misbehaving-tools.ts';
import { type RawAnswer, sendRaw, toRequestText } from '@recourse/test-support/raw-http.ts';
import { expect, test } from 'vitest';
import { createGated, NO_SLOT, start, toBody, toFacts, until, whenQueued } from './overload-lab.ts';

const OVERLOADED = {
  status: 503,
  title: 'Service Unavailable',
  code: 'overloaded',
  detail: 'The service is overloaded (queue). Nothing has run; send the batch again after the time in Retry-After.',
};

const keyOf = (tenant: string): Readonly<Record<string, string>> => ({ 'x-api-key': `key-of-${tenant}` });

const API_KEYS = ['a', 'b']
  .map((tenant) => `${tenant}=${createHash('sha256').update(`key-of-${tenant}`).digest('hex')}`)
  .join(',');

test('a tool that hangs for ever fills its own slots and takes nothing from the others', async () => {
  const hangs = toolThat('hangs', () => new Promise(() => undefined), { timeoutMs: 50 });
  const service = await start({ TOOL_CONCURRENCY: '4', MAX_CONCURRENT_CALLS: '4' }, [hangs]);
  const first = expectResults(await post(service.url, toBody(Array(4).fill('hangs'))), 4);
  expect(first.map(({ error }) => error?.code)).toEqual(Array(4).fill('timeout'));
  // Answered, and still running: four slots of the tool are gone for good, and none of the service's.
  expect(await service.metric('recourse_calls_in_flight{pool="inline"}')).toBe(4);
  const [refused, ...others] = expectResults(
    await post(service.url, toBody(['hangs', ...Array<string>(63).fill('echo')], { deadline_ms: 200 })),
    64,
  );
  expect(refused === undefined ? null : toFacts(refused)).toEqual(NO_SLOT);
  expect(others.filter(({ success }) => success)).toHaveLength(63);
  const batches = await Promise.all([1, 2, 3, 4].map(() => post(service.url, toBody(Array(64).fill('echo')))));
  for (const answer of batches) expect(expectResults(answer, 64).filter(({ success }) => success)).toHaveLength(64);
});

test('hundreds of calls for a tool that hangs close the door to no other batch', async () => {
  const hanging = createGated('hanging', { concurrency: 1 });
  const service = await start({ MAX_QUEUED_CALLS: '8', BATCH_CONCURRENCY: '64' }, [hanging.tool]);
  const flood = [1, 2, 3].map(() => post(service.url, toBody(Array(64).fill('hanging'), { deadline_ms: 1000 })));
  await whenQueued(service, 8);
  expect(expectResults(await post(service.url, toBody(['echo'])), 1)[0]?.success).toBe(true);
  const codes = (await Promise.all(flood)).flatMap((answer) =>
    expectResults(answer, 64).map(({ error }) => error?.code),
  );
  expect(codes.filter((code) => code === 'overloaded')).toHaveLength(191);
  expect(codes.filter((code) => code === 'timeout')).toHaveLength(1);
  expect(hanging.begun()).toBe(1);
});

const PATHS = ['/live', '/ready', '/metrics', '/openapi.json', '/docs/', '/tools', '/tools/echo'];

test('a saturated service answers 503 before it reads a batch, and everything else as ever', async () => {
  const gated = createGated('gated');
  const service = await start({ MAX_CONCURRENT_CALLS: '1', MAX_QUEUED_CALLS: '1' }, [gated.tool]);
  const running = post(service.url, toBody(['gated']));
  await until(() => gated.begun() === 1);
  const waiting = post(service.url, toBody(['gated']));
  await whenQueued(service, 1);
  // Not a byte of its body is there yet.
  const unread: RawAnswer = await sendRaw(
    service.port,
    toRequestText('POST /tool-calls', [
      ['Content-Type', 'application/json'],
      ['Content-Length', '500'],
    ]),
  );
  expectProblem(unread, OVERLOADED);
  expect(unread.headers.get('retry-after')).toBe('1');
  expectProblem(await post(service.url, '{'), OVERLOADED);
  const statuses = PATHS.map(async (path) => [path, (await fetch(`${service.url}${path}`)).status]);
  expect(await Promise.all(statuses)).toEqual(PATHS.map((path) => [path, 200]));
  expect((await fetch(`${service.url}/tool-calls`)).status).toBe(405);
  expect(await service.metric('recourse_shed_total{reason="queue"}')).toBe(2);
  gated.release();
  expect(expectResults(await running, 1)[0]?.success).toBe(true);
  await until(() => gated.begun() === 2);
  gated.release();
  expect(expectResults(await waiting, 1)[0]?.success).toBe(true);
  expect(expectResults(await post(service.url, toBody(['echo'])), 1)[0]?.success).toBe(true);
});

test('while one caller floods, the single call of another is next, and has its place in a full queue', async () => {
  const gated = createGated('gated');
  const service = await start({ API_KEYS, MAX_CONCURRENT_CALLS: '2', MAX_QUEUED_CALLS: '30' }, [gated.tool]);
  const flood = Array.from({ length: 32 }, () => post(service.url, toBody(['gated']), keyOf('a')));
  await whenQueued(service, 30);
  expectProblem(await post(service.url, toBody(['gated']), keyOf('a')), OVERLOADED);
  const single = post(service.url, toBody(['echo']), keyOf('b'));
  await until(async () => (await service.metric('recourse_shed_total{reason="queue_full"}')) === 1);
  gated.release();
  expect(expectResults(await single, 1)[0]?.success).toBe(true);
  expect(gated.begun()).toBeLessThanOrEqual(3);
  for (let ended = 0; ended < 32; ended += 1) {
    gated.release();
    await until(() => gated.begun() >= Math.min(31, ended + 3));
  }
  const results = (await Promise.all(flood)).flatMap((answer) => expectResults(answer, 1));
  const [dropped, ...more] = results.filter(({ success }) => !success);
  expect(more).toEqual([]);
  expect(dropped).toMatchObject({
    outcome: 'refused',
    executed: 'no',
    message: 'Not executed: too many calls are waiting already. Send fewer calls at once, or send this one later.',
    error: { code: 'overloaded', retry_after_ms: 1000, hint: null },
    retry: null,
  });
});

test('a draining service starts nothing that waits, whether a slot comes free or not', async () => {
  const held = createGated('held', { concurrency: 1 });
  const service = await start({}, [held.tool]);
  const first = post(service.url, toBody(['held']));
  await until(() => held.begun() === 1);
  const waiting = [1, 2].map(() => post(service.url, toBody(['held'])));
  await whenQueued(service, 2);
  service.drain();
  held.release();
  expect(expectResults(await first, 1)[0]?.success).toBe(true);
  for (const answer of await Promise.all(waiting))
    expect(expectResults(answer, 1)[0]).toMatchObject({ executed: 'no', error: { code: 'shutting_down' } });
  expect(held.begun()).toBe(1);
});

test('the catalogue says how many calls of a tool run at once', async () => {
  const service = await start({ TOOL_CONCURRENCY: '7' }, [toolThat('own', () => null, { concurrency: 9 })]);
  const limits = ['echo', 'own'].map(async (name) => (await fetch(`${service.url}/tools/${name}`)).json());
  expect(await Promise.all(limits)).toMatchObject([{ limits: { concurrency: 7 } }, { limits: { concurrency: 9 } }]);
});
