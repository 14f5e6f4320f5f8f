import { afterEach, beforeEach, expect, test } from 'vitest';
import { createOutageLab, RECOVERY } from '#test/support/outage-lab.ts';
import { toRedisKey } from '#test/support/session-stores-under-test.ts';

let lab: Awaited<ReturnType<typeof createOutageLab>>;

beforeEach(async () => {
  lab = await createOutageLab();
});

afterEach(() => lab.close());

test('policy open: nothing is counted, everything runs', async () => {
  const subject = await lab.createReady({ policy: 'open' });
  const session = subject.open();
  await lab.goDown(subject);
  for (let round = 0; round < 5; round += 1) {
    const { admission, decisions } = await session.begin(['y']);
    expect([admission.mode, ...decisions]).toEqual(['local', 'free']);
    expect(admission.permits.get('y')).toEqual({ decision: 'free', budget: null });
    const budgets = await admission.settle([
      { name: 'y', failed: true, succeeded: false, interrupted: false, error: 'e' },
    ]);
    expect(budgets.size).toBe(0);
  }
  await lab.comeBack(subject);
  expect((await session.begin(['y'])).decisions).toEqual(['free']);
});

test('policy closed: nothing runs, and settling is no error', async () => {
  const subject = await lab.createReady({ policy: 'closed' });
  await lab.goDown(subject);
  const { admission, decisions } = await subject.open().begin(['x', 'y']);
  expect(decisions).toEqual(['unavailable', 'unavailable']);
  expect((await admission.settle([])).size).toBe(0);
  await lab.comeBack(subject);
  expect((await subject.open().begin(['x'])).decisions).toEqual(['free']);
});

test('while it is away the likeliest budget is told: what the round did is taken for applied', async () => {
  const subject = await lab.createReady();
  const session = subject.open();
  await session.run({ x: 'F' });
  const open = () => session.begin(['x']);
  const [failed, mixed] = [await open(), await open()];
  await lab.goDown(subject);
  expect((await failed.end({ x: 'F' }))('x')).toMatchObject({ failures: 2, used: 1, remaining: 1 });
  expect((await mixed.end({ x: 'M' }))('x')).toMatchObject({ failures: 1, used: 0, remaining: 1 });
  expect((await mixed.end({ x: 'I' }))('x')).toMatchObject({ failures: 1, used: 0, remaining: 0 });
});

const BREAKAGES: readonly (readonly [string, readonly (readonly string[])[]])[] = [
  ['OOM', [['CONFIG', 'SET', 'maxmemory', '1']]],
  ['READONLY', [['REPLICAOF', '127.0.0.1', '1']]],
  [
    'MASTERDOWN',
    [
      ['CONFIG', 'SET', 'replica-serve-stale-data', 'no'],
      ['REPLICAOF', '127.0.0.1', '1'],
    ],
  ],
  ['NOPERM', [['ACL', 'SETUSER', 'default', '-eval', '-evalsha']]],
  ['NOREPLICAS', [['CONFIG', 'SET', 'min-replicas-to-write', '1']]],
];

test.each(BREAKAGES)('a Redis that answers %s is away like one that is silent', async (_name, commands) => {
  const { open, log } = await lab.createReady();
  const redis = await lab.direct();
  for (const [command = '', ...words] of commands) await redis.call(command, ...words);
  const round = await open().run({ x: 'F' });
  expect(round.decisions).toEqual(['free']);
  expect(log.states[0]).toBe('down');
  expect(log.failed).toHaveLength(1);
});

test('a session whose key holds something else is served from here', async () => {
  const { open, log } = await lab.createReady();
  const redis = await lab.direct();
  const session = open();
  await redis.set(toRedisKey(session.key), 'text');
  const round = await session.begin(['x']);
  expect([round.admission.mode, ...round.decisions]).toEqual(['local', 'free']);
  expect(log.failed[0]).toMatch(/^admit: WRONGTYPE /);
});

test('a Redis that may be reached but may run no scripts is said to be away before any batch', async () => {
  const redis = await lab.direct();
  await redis.call('ACL', 'SETUSER', 'default', '-eval', '-evalsha');
  const { store, log, modeNow } = lab.create();
  await expect.poll(store.isUp, RECOVERY).toBe(false);
  expect(log.failed[0]).toMatch(/^connect: NOPERM /);
  expect(await modeNow()).toBe('local');
});

// Printed, not asserted: a time asserted is a test of the machine.
test('what an outage adds to a batch is told', async () => {
  // The service's own patience, which is what it costs.
  const { modeNow } = await lab.createReady({ patienceMs: 50 });
  const timed = async (): Promise<number> => {
    const startedAt = performance.now();
    await modeNow();
    return performance.now() - startedAt;
  };
  const usual = await timed();
  lab.server.pause();
  const first = await timed();
  const later: number[] = [];
  for (let batch = 0; batch < 200; batch += 1) later.push(await timed());
  const [p50 = 0, p99 = 0] = [later.sort((a, b) => a - b)[100], later[198]];
  const told = [usual, first, p50, p99].map((ms) => `${ms.toFixed(2)} ms`);
  process.stdout.write(`admit: up ${told[0]}; frozen: first ${told[1]}, later p50 ${told[2]}, p99 ${told[3]}\n`);
  expect(later).toHaveLength(200);
});
