import { createCircuitLab, createTool, ENDS, endOf, settled } from '@recourse/test-support/circuit-lab.ts';
import { expect, test } from 'vitest';

const tool = createTool('search', { timeoutMs: 5000 });

/** A lab in which the tool's circuit has just been open for its time. */
const createProbeLab = async (openMs = 10_000) => {
  const lab = createCircuitLab({ failures: 2, openMs });
  await lab.run(tool, ['fault', 'fault']);
  lab.clock.nowMs = openMs;
  return lab;
};

test('when its time is over the circuit lets one call through, and tells those beside it to come back soon', async () => {
  const lab = await createProbeLab();
  lab.clock.nowMs = 9999;
  expect(lab.begin(tool)).toEqual({ kind: 'refused', retryAfterMs: 1 });
  lab.clock.nowMs = 10_000;
  expect(lab.refusal(tool)).toBeNull();
  expect(lab.begin(tool).kind).toBe('passed');
  expect(lab.refusal(tool)).toBe(1000);
  expect(lab.begin(tool)).toEqual({ kind: 'refused', retryAfterMs: 1000 });
  expect(lab.changes).toEqual(['search open', 'search half_open']);
});

test('calls beside a probe are never told to wait longer than the circuit stays open', async () => {
  const lab = await createProbeLab(50);
  lab.start(tool);
  expect(lab.refusal(tool)).toBe(50);
});

test('to ask whether a call would be refused changes nothing', async () => {
  const lab = await createProbeLab();
  for (let times = 0; times < 5; times += 1) expect(lab.refusal(tool)).toBeNull();
  expect(lab.changes).toEqual(['search open']);
  expect(lab.begin(tool).kind).toBe('passed');
});

test('a probe that succeeds closes the circuit, and the count begins at zero', async () => {
  const lab = await createProbeLab();
  await lab.run(tool, ['success', 'fault']);
  expect(lab.refusal(tool)).toBeNull();
  expect(lab.changes).toEqual(['search open', 'search half_open', 'search closed']);
  await lab.run(tool, ['fault']);
  expect(lab.refusal(tool)).toBe(10_000);
});

test('a probe at fault opens the circuit for its whole time again, counted from the end of the probe', async () => {
  const lab = await createProbeLab();
  const ended = lab.start(tool);
  lab.clock.nowMs = 13_000;
  ended(ENDS.fault, 'own');
  await settled();
  expect(lab.refusal(tool)).toBe(10_000);
  lab.clock.nowMs = 22_999;
  expect(lab.refusal(tool)).toBe(1);
  expect(lab.changes).toEqual(['search open', 'search half_open', 'search open']);
});

test.each([
  ['invalid_arguments', 'own'],
  ['cancelled', 'own'],
  ['overloaded', 'own'],
  ['tool_failed', 'own'],
  ['timeout', 'shortened'],
] as const)('a probe that ends as %s (limit: %s) says nothing, and the next call is the probe', async (code, limit) => {
  const lab = await createProbeLab();
  lab.start(tool)(endOf(code), limit);
  await settled();
  expect(lab.changes).toEqual(['search open', 'search half_open']);
  expect(lab.refusal(tool)).toBeNull();
  const second = lab.start(tool);
  expect(lab.begin(tool)).toEqual({ kind: 'refused', retryAfterMs: 1000 });
  second(ENDS.success, 'own');
  await settled();
  expect(lab.changes).toEqual(['search open', 'search half_open', 'search closed']);
});

test('a probe that never ends gives way after the open time and the time limit of the tool', async () => {
  const lab = await createProbeLab();
  const dead = lab.start(tool);
  lab.clock.nowMs = 24_999;
  expect(lab.refusal(tool)).toBe(1000);
  lab.clock.nowMs = 25_000;
  expect(lab.refusal(tool)).toBeNull();
  const second = lab.start(tool);
  expect(lab.refusal(tool)).toBe(1000);
  dead(ENDS.success, 'own');
  await settled();
  expect(lab.refusal(tool)).toBe(1000);
  second(ENDS.fault, 'own');
  await settled();
  expect(lab.changes).toEqual(['search open', 'search half_open', 'search open']);
});

test('the end of a probe is heard once', async () => {
  const lab = await createProbeLab();
  const ended = lab.start(tool);
  ended(ENDS.success, 'own');
  await settled();
  ended(ENDS.fault, 'own');
  ended(ENDS.fault, 'own');
  await settled();
  expect(lab.refusal(tool)).toBeNull();
  expect(lab.changes).toEqual(['search open', 'search half_open', 'search closed']);
});

test('the calls of a batch that follow a probe without a pause hear of its end at once', async () => {
  const lab = await createProbeLab();
  const batch = {};
  lab.start(tool, { batch })(ENDS.success, 'own');
  expect(lab.refusal(tool)).toBeNull();
  lab.start(tool, { batch })(ENDS.fault, 'own');
  await settled();
  await lab.run(tool, ['fault']);
  expect(lab.refusal(tool)).toBe(10_000);

  lab.clock.nowMs = 20_000;
  lab.start(tool)(ENDS.fault, 'own');
  expect(lab.begin(tool)).toEqual({ kind: 'refused', retryAfterMs: 10_000 });
  await settled();
  expect(lab.refusal(tool)).toBe(10_000);
});

test('a probe of a circuit that was forgotten meanwhile says nothing of the one in its place', async () => {
  const lab = await createProbeLab();
  const probe = lab.start(tool);
  const fetching = createTool('fetch', { breakerKey: 'origin' });
  for (let index = 0; index < 2000; index += 1)
    lab.start(fetching, { input: { origin: `origin ${index}` } })(ENDS.fault, 'own');
  await settled();
  expect(lab.changes).toEqual(['search open', 'search half_open', 'search closed']);
  await lab.run(tool, ['fault']);
  probe(ENDS.fault, 'own');
  await settled();
  expect(lab.refusal(tool)).toBeNull();
  expect(lab.changes.slice(3)).toEqual([]);
  await lab.run(tool, ['fault']);
  expect(lab.refusal(tool)).toBe(10_000);
  expect(lab.changes.slice(3)).toEqual(['search open']);
});
