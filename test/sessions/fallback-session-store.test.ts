import { createBudgetSession, ROOMY } from '@recourse/test-support/budget-session.ts';
import { createRedisUnderTest } from '@recourse/test-support/session-stores-under-test.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { StoreUnavailableError } from '#src/executor/session-store.ts';
import { becomeReady, createOutageLab, PATIENCE_MS, RECOVERY } from '#test/sessions/outage-lab.ts';

let lab: Awaited<ReturnType<typeof createOutageLab>>;

beforeEach(async () => {
  lab = await createOutageLab();
});

afterEach(() => lab.close());

test('refused at start: it says so before any batch, serves from memory, and finds its way back without one', async () => {
  lab.proxy.refuse();
  const { store, log, modeNow } = lab.create();
  await expect.poll(store.isUp, RECOVERY).toBe(false);
  expect(await modeNow()).toBe('local');
  expect(log.states).toEqual(['down']);
  await lab.proxy.accept();
  await expect.poll(store.isUp, RECOVERY).toBe(true);
  expect(log.states).toEqual(['down', 'up']);
  expect(await modeNow()).toBe('redis');
});

test('cut with rounds under way: none rejects, each settles where it was admitted or nowhere', async () => {
  const { store, open, log, modeNow } = await lab.createReady();
  const sessions = Array.from({ length: 20 }, () => open());
  const admitted = await Promise.all(sessions.map((session) => session.begin(['x'])));
  lab.proxy.delay(20);
  const settling = Promise.all(admitted.map((round) => round.end({ x: 'F' })));
  const admitting = Promise.all(sessions.map((session) => session.begin(['x'])));
  lab.proxy.cut();
  expect((await settling).map((budgetOf) => budgetOf('x').failures)).toEqual(sessions.map(() => 1));
  // A reservation whose answer was cut off is asked for again as long as its batch waits.
  for (const { admission } of await admitting) expect(['redis', 'local']).toContain(admission.mode);
  lab.proxy.delay(0);
  await expect.poll(store.isUp, RECOVERY).toBe(true);
  expect(await modeNow()).toBe('redis');
  expect(log.states).toEqual(['down', 'up']);
});

test('one answer that does not come in time is no outage, be it that of many at once', async () => {
  const { store, log, clock, modeNow } = await lab.createReady();
  lab.server.pause();
  const modes = Promise.all(Array.from({ length: 20 }, modeNow));
  clock.advance(1);
  expect(new Set(await modes)).toEqual(new Set(['local']));
  lab.server.resume();
  expect(store.isUp()).toBe(true);
  await expect.poll(modeNow, RECOVERY).toBe('redis');
  expect(log.states).toEqual([]);
});

test('frozen: two time-outs, however many batches come', async () => {
  const subject = await lab.createReady();
  const { open, log, modeNow } = subject;
  await lab.goSilent(subject);
  const modes = [await modeNow()];
  for (let batch = 0; batch < 100; batch += 1) modes.push(await modeNow());
  expect(new Set(modes)).toEqual(new Set(['local']));
  const sessions = Array.from({ length: 50 }, () => open());
  const rounds = await Promise.all(sessions.map((session) => session.run({ x: 'F' })));
  expect(rounds.flatMap(({ decisions }) => decisions)).toEqual(sessions.map(() => 'free'));
  expect(log.failed.filter((text) => text.startsWith('admit'))).toHaveLength(2);
  expect(log.states).toEqual(['down']);
});

test('frozen while rounds run: their settles do not wait for time-outs of their own', async () => {
  const subject = await lab.createReady();
  const { open, log } = subject;
  const rounds = await Promise.all(Array.from({ length: 20 }, () => open().begin(['x'])));
  await lab.goSilent(subject);
  for (const round of rounds)
    expect((await round.end({ x: 'F' }))('x')).toMatchObject({ failures: 1, used: 0, remaining: 2 });
  // What settles waits longer than what is let in: that Redis is slow is no outage yet.
  expect(log.failed.filter((text) => text.startsWith('settle')).length).toBeLessThanOrEqual(2);
});

test('a clean settle asks nobody, and is no sign of life', async () => {
  const subject = await lab.createReady();
  const { store, open, log } = subject;
  const clean = await open().begin(['x']);
  await lab.goSilent(subject);
  await clean.end({ x: 'S' });
  expect(store.isUp()).toBe(false);
  expect(log.states).toEqual(['down']);
});

test('once a check is served the next batch goes to Redis, and so do all after it', async () => {
  const subject = await lab.createReady();
  const { store, log, modeNow } = subject;
  await lab.goSilent(subject);
  lab.server.resume();
  await becomeReady(subject);
  expect([await modeNow(), await modeNow(), store.isUp()]).toEqual(['redis', 'redis', true]);
  expect(log.states.at(-1)).toBe('up');
});

test('killed and restarted empty: it serves throughout, and the session goes on as this process knew it', async () => {
  const { store, open, log, modeNow } = await lab.createReady();
  const session = open();
  await session.run({ y: 'F' });
  expect((await session.begin(['y'])).decisions).toEqual(['tool']);
  await lab.server.kill();
  await expect.poll(store.isUp, RECOVERY).toBe(false);
  const here = await session.begin(['y']);
  expect([here.admission.mode, ...here.decisions]).toEqual(['local', 'tool']);
  await lab.server.restart();
  await expect.poll(store.isUp, RECOVERY).toBe(true);
  const there = await session.begin(['y']);
  expect([there.admission.mode, ...there.decisions]).toEqual(['redis', 'tool']);
  expect(await modeNow()).toBe('redis');
  expect(log.states).toEqual(['down', 'up']);
});

test('what was counted here during an outage goes to Redis when that is back', async () => {
  const subject = await lab.createReady();
  const [session, other] = [subject.open(), subject.open()];
  await lab.goDown(subject);
  for (const one of [session, other]) expect((await one.run({ y: 'F' })).decisions).toEqual(['free']);
  expect((await session.begin(['y'])).decisions).toEqual(['tool']);
  await lab.comeBack(subject);
  const { admission, decisions } = await session.begin(['y']);
  expect([admission.mode, ...decisions]).toEqual(['redis', 'tool']);
  expect(await subject.store.read(other.key)).toMatchObject({
    mode: 'redis',
    rounds: 1,
    tools: [{ name: 'y', failures: 1, used: 0, lastError: 'it failed' }],
  });
});

test('an outage begins where this process saw the session last, and its failures are late rounds of it', async () => {
  const subject = await lab.createReady();
  const session = subject.open();
  await session.run({ x: 'F' });
  await lab.goDown(subject);
  // Two retries: one here, and the last there.
  expect((await session.run({ x: 'F' })).decisions).toEqual(['retry']);
  await lab.comeBack(subject);
  expect(await subject.store.read(session.key)).toMatchObject({
    mode: 'redis',
    rounds: 2,
    tools: [{ name: 'x', failures: 2, used: 1 }],
  });
  expect((await session.run({ x: 'F' })).decisions).toEqual(['retry']);
  expect((await session.begin(['x'])).decisions).toEqual(['tool']);
});

test('a success here cleans what had failed before it, and nothing that failed at another replica since', async () => {
  const subject = await lab.createReady();
  const sessions = [subject.open(), subject.open()] as const;
  for (const one of sessions) await one.run({ x: 'F' });
  await lab.goDown(subject);
  for (const one of sessions) expect((await one.run({ x: 'S' })).decisions).toEqual(['retry']);
  const replica = createRedisUnderTest(await lab.direct(), ROOMY);
  await createBudgetSession(replica, { x: 2 }, sessions[1].key).run({ x: 'F' });
  await lab.comeBack(subject);
  const failuresOf = async (key: string) => (await subject.store.read(key)).tools.map(({ failures }) => failures);
  expect([await failuresOf(sessions[0].key), await failuresOf(sessions[1].key)]).toEqual([[], [2]]);
});

test('a round of Redis settles there or nowhere, and one of this process here or, when Redis is back, there', async () => {
  const subject = await lab.createReady();
  const session = subject.open();
  const fromRedis = await session.begin(['y']);
  await lab.goDown(subject);
  await fromRedis.end({ y: 'F' });
  const fromHere = await session.begin(['y']);
  expect([fromHere.admission.mode, ...fromHere.decisions]).toEqual(['local', 'free']);
  await lab.comeBack(subject);
  await fromHere.end({ y: 'F' });
  const after = await session.begin(['y']);
  expect([after.admission.mode, ...after.decisions]).toEqual(['redis', 'tool']);
});

test('an answer that comes too late may have been applied: the command is not sent again', async () => {
  const subject = await lab.createReady();
  const { open, log } = subject;
  const session = open();
  await session.run({ x: 'F' });
  lab.proxy.delay(PATIENCE_MS);
  const late = await session.begin(['x']);
  expect([late.admission.mode, ...late.decisions]).toEqual(['local', 'retry']);
  lab.proxy.delay(0);
  await becomeReady(subject);
  // One retry was reserved, and not two: the other is still to be had.
  const next = [await session.begin(['x']), await session.begin(['x'])];
  expect(next.flatMap(({ decisions }) => decisions)).toEqual(['retry', 'running']);
  expect(log.failed[0]).toBe('admit: Command timed out');
});

test('one late answer lets nothing through that was blocked, and a storm of failures no more than its retries', async () => {
  const subject = await lab.createReady();
  const [blocked, failing] = [subject.open(), subject.open()];
  for (let round = 0; round < 3; round += 1) await blocked.run({ x: 'F' });
  await failing.run({ x: 'F' });
  lab.server.pause();
  const admitting = [blocked, ...Array.from({ length: 30 }, () => failing)].map((one) => one.begin(['x']));
  subject.clock.advance(1);
  const late = await Promise.all(admitting);
  lab.server.resume();
  expect(late.map(({ admission }) => admission.mode)).toEqual(late.map(() => 'local'));
  const decisions = late.flatMap((round) => round.decisions);
  expect(decisions[0]).toBe('tool');
  expect(decisions.filter((decision) => decision === 'retry')).toHaveLength(2);
  expect(decisions.filter((decision) => decision === 'running')).toHaveLength(28);
  expect(subject.store.isUp()).toBe(true);
  for (const round of late) await round.end({ x: 'F' });
  await expect.poll(async () => (await subject.store.read(failing.key)).mode, RECOVERY).toBe('redis');
  expect(await subject.store.read(failing.key)).toMatchObject({ tools: [{ name: 'x', failures: 3, used: 2 }] });
});

test('while it is away nothing is ended or reset, and that is said', async () => {
  const subject = await lab.createReady();
  const session = subject.open();
  await session.run({ y: 'F' });
  await lab.goDown(subject);
  await expect(subject.store.end(session.key)).rejects.toThrow(StoreUnavailableError);
  await expect(subject.store.reset(session.key, null)).rejects.toThrow(StoreUnavailableError);
  await expect(subject.store.reset(session.key, 'y')).rejects.toThrow('The session store is unavailable.');
  await lab.comeBack(subject);
  expect((await session.begin(['y'])).decisions).toEqual(['tool']);
  await subject.store.reset(session.key, 'y');
  expect((await session.begin(['y'])).decisions).toEqual(['free']);
  await subject.store.end(session.key);
  expect(await subject.store.read(session.key)).toMatchObject({ mode: 'redis', rounds: 0, tools: [] });
});

test('while it is away what is counted here can be read', async () => {
  const subject = await lab.createReady();
  const session = subject.open();
  await session.run({ x: 'F', y: 'F' });
  await lab.goDown(subject);
  await session.run({ y: 'F' });
  const here = await subject.store.read(session.key);
  expect(here).toMatchObject({
    mode: 'local',
    rounds: 2,
    tools: [
      { name: 'x', failures: 1 },
      { name: 'y', failures: 1 },
    ],
  });
  expect(Date.now() - Date.parse(here.since ?? '')).toBeLessThan(timeLimit(60_000));
  await lab.comeBack(subject);
  const there = await subject.store.read(session.key);
  expect(there).toMatchObject({ mode: 'redis', rounds: 2, tools: [{ name: 'x' }, { name: 'y' }] });
  expect(there).not.toHaveProperty('since');
});

test('a reading that comes too late while it serves says nothing of the session, for nothing was counted here', async () => {
  const subject = await lab.createReady();
  const session = subject.open();
  await session.run({ y: 'F' });
  lab.server.pause();
  await expect(subject.store.read(session.key)).rejects.toThrow(StoreUnavailableError);
  lab.server.resume();
  expect(subject.log.states).toEqual([]);
  await expect.poll(() => subject.store.read(session.key), RECOVERY).toMatchObject({ mode: 'redis', rounds: 1 });
});

test.each(['open', 'closed'] as const)(
  'policy %s counts nothing here, and there is nothing to be read',
  async (policy) => {
    const subject = await lab.createReady({ policy });
    const session = subject.open();
    await session.run({ y: 'F' });
    await lab.goDown(subject);
    const { admission } = await session.begin(['y']);
    expect([admission.step, admission.verdicts]).toEqual([0, []]);
    await admission.addLate('{}');
    await expect(subject.store.read(session.key)).rejects.toThrow(StoreUnavailableError);
    await lab.comeBack(subject);
    expect(await subject.store.read(session.key)).toMatchObject({ mode: 'redis', rounds: 1 });
  },
);

test('frozen: who reads, ends or resets waits twice, and not again however much later', async () => {
  const { store, log, clock } = await lab.createReady();
  lab.server.pause();
  await expect(store.end('tenant:frozen')).rejects.toThrow(StoreUnavailableError);
  clock.advance(5_000);
  await expect(store.reset('tenant:frozen', null)).rejects.toThrow(StoreUnavailableError);
  expect((await store.read('tenant:frozen')).mode).toBe('local');
  await expect(store.end('tenant:frozen')).rejects.toThrow(StoreUnavailableError);
  expect(log.failed.filter((text) => text.startsWith('settle'))).toEqual([
    'settle: Command timed out',
    'settle: Command timed out',
  ]);
});

test('a Redis that answers reads and takes no writes is not taken for one that is back', async () => {
  const { store, open, log } = await lab.createReady();
  const redis = await lab.direct();
  await redis.call('CONFIG', 'SET', 'min-replicas-to-write', '1');
  const session = open();
  await session.run({ y: 'F' });
  expect(await store.read(session.key)).toMatchObject({ mode: 'local', rounds: 1 });
  expect((await session.begin(['y'])).decisions).toEqual(['tool']);
  expect(log.states).toEqual(['down']);
});

test('a late result of a round that Redis admitted is written there or nowhere, and disturbs nobody', async () => {
  const subject = await lab.createReady();
  const round = await subject.open().begin(['x']);
  await lab.goDown(subject);
  subject.log.failed.length = 0;
  await expect(round.admission.addLate('{}')).resolves.toBeUndefined();
  expect([subject.log.failed, subject.store.isUp()]).toEqual([[], false]);
  await lab.comeBack(subject);
  await expect(round.admission.addLate('{}')).resolves.toBeUndefined();
});
