import { expectResults, post } from '@recourse/test-support/check-answer.ts';
import { toolThat } from '@recourse/test-support/misbehaving-tools.ts';
import { expect, test } from 'vitest';
import { createGated, NO_SLOT, start, toBody, toFacts, until, whenQueued } from './overload-lab.ts';

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
