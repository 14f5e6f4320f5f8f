import { createHash } from 'node:crypto';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { ToolResult } from '#src/contract/tool-result.ts';
import type { Tool } from '#src/tools/tool.ts';
import { expectProblem, expectResults, post } from '#test/support/check-answer.ts';
import { toolThat } from '#test/support/misbehaving-tools.ts';
import { type RawAnswer, sendRaw, toRequestText } from '#test/support/raw-http.ts';
import { type RunningService, startService } from '#test/support/start-service.ts';

const start = async (
  environment: Readonly<Record<string, string>>,
  tools: readonly Tool[],
): Promise<RunningService> => {
  const service = await startService(environment, tools);
  onTestFinished(async () => {
    expect(await service.metric('recourse_contract_violations_total')).toBe(0);
    await service.stop();
  });
  return service;
};

type Gated = {
  readonly tool: Tool;
  /** How many handlers have begun. */
  readonly begun: () => number;
  /** Ends the handler that has run longest. */
  readonly release: () => void;
};

/** A tool whose handlers end when the test says so. */
const createGated = (name: string, rest: { readonly concurrency?: number } = {}): Gated => {
  const open: (() => void)[] = [];
  let begun = 0;
  const run = (): Promise<void> => {
    begun += 1;
    return new Promise((resolve) => open.push(resolve));
  };
  const release = (): void => open.shift()?.();
  onTestFinished(() => {
    for (const end of open) end();
  });
  return { tool: toolThat(name, run, rest), begun: () => begun, release };
};

const toBody = (names: readonly string[], envelope: Readonly<Record<string, unknown>> = {}): string =>
  JSON.stringify({
    ...envelope,
    calls: names.map((name) => ({ name, arguments: name === 'echo' ? { text: 'x' } : {} })),
  });

const until = (condition: () => unknown): Promise<unknown> =>
  vi.waitFor(async () => expect(await condition()).toBe(true), { timeout: 10_000, interval: 10 });

const whenQueued = (service: RunningService, count: number): Promise<unknown> =>
  until(async () => (await service.metric('recourse_calls_queued{pool="inline"}')) === count);

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

const toFacts = ({ success, outcome, executed, message, error, retry }: ToolResult) => ({
  success,
  outcome,
  executed,
  message,
  code: error?.code,
  retry,
});

const NO_SLOT = {
  success: false,
  outcome: 'refused',
  executed: 'no',
  message: "Not executed: no slot became free before the batch's deadline. Send fewer calls at once, or try later.",
  code: 'overloaded',
  retry: null,
};

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

test.each(['-1', '0', '-0', '"5"', '"NaN"', '[]', 'true', '-1e400', '1e400'])(
  'the deadline %s is a bad request, or is as long as it may be',
  async (deadline) => {
    const service = await start({}, []);
    const answer = await post(service.url, `{"deadline_ms":${deadline},"calls":[{"name":"nope"}]}`);
    expect([answer.status, answer.body.includes('deadline_ms')]).toEqual([400, true]);
  },
);

test('a deadline that is no JSON is a bad request, one of 1e12 ms is cut to the longest there is', async () => {
  const gated = createGated('gated');
  const service = await start({ MAX_DEADLINE_MS: '100' }, [gated.tool]);
  expect((await post(service.url, '{"deadline_ms":NaN,"calls":[]}')).status).toBe(400);
  const [result] = expectResults(await post(service.url, toBody(['gated'], { deadline_ms: 1e12 })), 1);
  expect(result?.error?.code).toBe('timeout');
});

test('a call that waited longer than its deadline never starts, even if a slot comes free right then', async () => {
  const held = createGated('held', { concurrency: 1 });
  const service = await start({}, [held.tool]);
  const first = post(service.url, toBody(['held']));
  await until(() => held.begun() === 1);
  const [late] = expectResults(await post(service.url, toBody(['held'], { deadline_ms: 50 })), 1);
  expect(late === undefined ? null : toFacts(late)).toEqual(NO_SLOT);
  held.release();
  expect(expectResults(await first, 1)[0]?.success).toBe(true);
  // Nothing is left that could still run.
  expect(await service.metric('recourse_calls_queued{pool="inline"}')).toBe(0);
  expect(held.begun()).toBe(1);
});

test('a deadline that passed while the event loop was blocked counts although no timer has told yet', async () => {
  const entered = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  let begun = 0;
  const run = async (): Promise<void> => {
    begun += 1;
    entered.resolve();
    await go.promise;
    const until = performance.now() + 300;
    while (performance.now() < until);
  };
  const service = await start({}, [toolThat('blocks', run, { concurrency: 1 })]);
  const first = post(service.url, toBody(['blocks']));
  await entered.promise;
  const second = post(service.url, toBody(['blocks'], { deadline_ms: 250 }));
  await whenQueued(service, 1);
  go.resolve();
  expect(expectResults(await first, 1)[0]?.success).toBe(true);
  expect(expectResults(await second, 1)[0]).toMatchObject({
    outcome: 'refused',
    executed: 'no',
    error: { code: 'overloaded' },
  });
  expect(begun).toBe(1);
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

test('a call that could not be done in what is left of its deadline is not begun', async () => {
  const slow = toolThat('slow', () => new Promise((resolve) => setTimeout(resolve, 200)), { concurrency: 4 });
  const service = await start({}, [slow]);
  for (let batch = 0; batch < 5; batch += 1) expectResults(await post(service.url, toBody(Array(4).fill('slow'))), 4);
  const busy = post(service.url, toBody(Array(4).fill('slow')));
  await until(async () => (await service.metric('recourse_calls_in_flight{pool="inline"}')) === 4);
  const [hurried] = expectResults(await post(service.url, toBody(['slow'], { deadline_ms: 60 })), 1);
  expect(hurried).toMatchObject({
    executed: 'no',
    message:
      "Not executed: too little time was left before the batch's deadline. Send fewer calls at once, or allow more time.",
    error: { code: 'overloaded' },
  });
  expect(await service.metric('recourse_shed_total{reason="deadline"}')).toBe(1);
  expectResults(await busy, 4);
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

test('a tool that blocks the event loop is seen in the lag, and no batch is refused for that', async () => {
  const block = (): void => {
    const until = performance.now() + 1000;
    while (performance.now() < until);
  };
  const service = await start({}, [toolThat('blocks', block)]);
  expect(expectResults(await post(service.url, toBody(['blocks'])), 1)[0]?.success).toBe(true);
  await until(async () => ((await service.metric('recourse_event_loop_lag_seconds')) ?? 0) >= 0.8);
  expect(await service.metric('recourse_event_loop_utilization_ratio')).toBeGreaterThan(0);
  for (let batch = 0; batch < 20; batch += 1)
    expect(expectResults(await post(service.url, toBody(['echo'])), 1)[0]?.success).toBe(true);
  expect(await service.metric('recourse_shed_total{reason="event_loop"}')).toBe(0);
  // Intervals later it is still to be seen: whoever scrapes every 15 s must not miss it.
  for (let interval = 0; interval < 3; interval += 1) {
    const before = await service.metric('recourse_event_loop_utilization_ratio');
    await until(async () => (await service.metric('recourse_event_loop_utilization_ratio')) !== before);
  }
  expect(await service.metric('recourse_event_loop_lag_seconds')).toBeGreaterThan(0.8);
});

test('while the event loop keeps lagging part of the batches is refused, and all are taken again when it does not', async () => {
  const block = (): void => {
    const until = performance.now() + 300;
    while (performance.now() < until);
  };
  const service = await start({ MAX_EVENT_LOOP_LAG_MS: '100' }, [toolThat('blocks', block)]);
  const statuses: number[] = [];
  const refused = (): number => statuses.filter((status) => status === 503).length;
  await until(async () => {
    const answers = await Promise.all(Array.from({ length: 3 }, () => post(service.url, toBody(['blocks']))));
    statuses.push(...answers.map(({ status }) => status));
    expect((await fetch(`${service.url}/ready`)).status).toBe(200);
    return refused() > 0;
  });
  expect(new Set(statuses)).toEqual(new Set([200, 503]));
  expect(await service.metric('recourse_shed_total{reason="event_loop"}')).toBe(refused());
  await until(async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => post(service.url, toBody(['echo']))));
    return answers.every(({ status }) => status === 200);
  });
});

test('the catalogue says how many calls of a tool run at once', async () => {
  const service = await start({ TOOL_CONCURRENCY: '7' }, [toolThat('own', () => null, { concurrency: 9 })]);
  const limits = ['echo', 'own'].map(async (name) => (await fetch(`${service.url}/tools/${name}`)).json());
  expect(await Promise.all(limits)).toMatchObject([{ limits: { concurrency: 7 } }, { limits: { concurrency: 9 } }]);
});
