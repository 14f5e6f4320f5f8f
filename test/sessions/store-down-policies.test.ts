import { afterEach, beforeEach, expect, test } from 'vitest';
import { createOutageLab } from '#test/sessions/outage-lab.ts';

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
    const outcome = { name: 'y', failed: true, succeeded: false, interrupted: false, error: 'e' };
    const budgets = await admission.settle({ outcomes: [outcome], calls: [], journal: null });
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
  expect((await admission.settle({ outcomes: [], calls: [], journal: null })).size).toBe(0);
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

test.each(['local', 'open', 'closed'] as const)(
  'policy %s: a forecast says what a round would be told, and counts nothing anywhere',
  async (policy) => {
    const subject = await lab.createReady({ policy });
    const session = subject.open();
    await session.run({ x: 'F' });
    await lab.goDown(subject);
    const forecast = async () => {
      const { mode, permits } = await session.forecast(['x']);
      return [mode, permits.get('x')?.decision];
    };
    const expected = { local: ['local', 'retry'], open: ['local', 'free'], closed: ['local', 'unavailable'] }[policy];
    for (let n = 0; n < 3; n += 1) expect(await forecast()).toEqual(expected);
    expect((await session.begin(['x'])).decisions).toEqual([expected[1]]);
  },
);
