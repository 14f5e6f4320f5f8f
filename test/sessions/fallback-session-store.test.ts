import { afterEach, beforeEach, expect, test } from 'vitest';
import { becomeReady, createOutageLab, PATIENCE_MS, RECOVERY } from '#test/support/outage-lab.ts';

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
  for (const { admission } of await admitting) expect(admission.mode).toBe('local');
  lab.proxy.delay(0);
  await expect.poll(store.isUp, RECOVERY).toBe(true);
  expect(await modeNow()).toBe('redis');
  expect(log.states).toEqual(['down', 'up']);
});

test('frozen: one time-out a second, however many batches come', async () => {
  const { open, log, clock, modeNow } = await lab.createReady();
  lab.server.pause();
  const modes = [await modeNow()];
  for (let batch = 0; batch < 100; batch += 1) modes.push(await modeNow());
  clock.advance(999);
  modes.push(await modeNow());
  expect(new Set(modes)).toEqual(new Set(['local']));
  expect(log.failed).toEqual(['admit: Command timed out']);
  clock.advance(1);
  const sessions = Array.from({ length: 50 }, () => open());
  const rounds = await Promise.all(sessions.map((session) => session.run({ x: 'F' })));
  expect(rounds.flatMap(({ decisions }) => decisions)).toEqual(sessions.map(() => 'free'));
  expect(log.failed).toHaveLength(2);
  expect(log.states).toEqual(['down']);
});

test('frozen while rounds run: their settles do not wait for time-outs of their own', async () => {
  const { open, log, modeNow } = await lab.createReady();
  const rounds = await Promise.all(Array.from({ length: 20 }, () => open().begin(['x'])));
  lab.server.pause();
  expect(await modeNow()).toBe('local');
  for (const round of rounds)
    expect((await round.end({ x: 'F' }))('x')).toMatchObject({ failures: 1, used: 0, remaining: 2 });
  expect(log.failed).toEqual(['admit: Command timed out']);
});

test('a clean settle asks nobody, and is no sign of life', async () => {
  const { store, open, log, modeNow } = await lab.createReady();
  const clean = await open().begin(['x']);
  lab.server.pause();
  await modeNow();
  await clean.end({ x: 'S' });
  expect(store.isUp()).toBe(false);
  expect(log.states).toEqual(['down']);
});

test('once a probe is served the next batch goes to Redis, and so do all after it', async () => {
  const subject = await lab.createReady();
  const { store, log, modeNow } = subject;
  lab.server.pause();
  expect(await modeNow()).toBe('local');
  lab.server.resume();
  await becomeReady(subject);
  expect([await modeNow(), await modeNow(), store.isUp()]).toEqual(['redis', 'redis', true]);
  expect(log.states.at(-1)).toBe('up');
});

test('killed and restarted empty: it serves throughout, and the session begins anew', async () => {
  const { store, open, log, modeNow } = await lab.createReady();
  const session = open();
  await session.run({ y: 'F' });
  expect((await session.begin(['y'])).decisions).toEqual(['tool']);
  await lab.server.kill();
  await expect.poll(store.isUp, RECOVERY).toBe(false);
  expect((await session.begin(['y'])).decisions).toEqual(['free']);
  await lab.server.restart();
  await expect.poll(store.isUp, RECOVERY).toBe(true);
  const fresh = await session.begin(['y']);
  expect([fresh.admission.mode, ...fresh.decisions]).toEqual(['redis', 'free']);
  expect(await modeNow()).toBe('redis');
  expect(log.states).toEqual(['down', 'up']);
});

test('what was counted here during an outage is dropped when Redis is back, and does not return with the next', async () => {
  const subject = await lab.createReady();
  const session = subject.open();
  await lab.goDown(subject);
  expect((await session.run({ y: 'F' })).decisions).toEqual(['free']);
  expect((await session.begin(['y'])).decisions).toEqual(['tool']);
  await lab.comeBack(subject);
  expect((await session.begin(['y'])).decisions).toEqual(['free']);
  await lab.goDown(subject);
  expect((await session.begin(['y'])).decisions).toEqual(['free']);
});

test('a round settles in the store that admitted it, or nowhere', async () => {
  const subject = await lab.createReady();
  const session = subject.open();
  const fromRedis = await session.begin(['y']);
  await lab.goDown(subject);
  await fromRedis.end({ y: 'F' });
  const fromHere = await session.begin(['y']);
  expect([fromHere.admission.mode, ...fromHere.decisions]).toEqual(['local', 'free']);
  await lab.comeBack(subject);
  expect((await fromHere.end({ y: 'F' }))('y')).toMatchObject({ failures: 0 });
  const after = await session.begin(['y']);
  expect([after.admission.mode, ...after.decisions]).toEqual(['redis', 'free']);
  await lab.goDown(subject);
  expect((await session.begin(['y'])).decisions).toEqual(['free']);
});

test('an answer that comes too late may have been applied: the command is not sent again', async () => {
  const subject = await lab.createReady();
  const { open, log } = subject;
  const session = open();
  await session.run({ x: 'F' });
  lab.proxy.delay(PATIENCE_MS);
  const late = await session.begin(['x']);
  expect([late.admission.mode, ...late.decisions]).toEqual(['local', 'free']);
  lab.proxy.delay(0);
  await becomeReady(subject);
  // One retry was reserved, and not two: the other is still to be had.
  const next = [await session.begin(['x']), await session.begin(['x'])];
  expect(next.flatMap(({ decisions }) => decisions)).toEqual(['retry', 'running']);
  expect(log.failed[0]).toBe('admit: Command timed out');
});
