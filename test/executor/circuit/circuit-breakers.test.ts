import { createCircuitLab, createTool, ENDS, endOf, settled } from '@recourse/test-support/circuit-lab.ts';
import { roomyMemory } from '@recourse/test-support/roomy-memory.ts';
import { expect, test } from 'vitest';

const tool = createTool('search');

test('so many batches in a row with a fault open the circuit, and calls are told how long to wait', async () => {
  const lab = createCircuitLab({ failures: 3, openMs: 10_000 });
  await lab.run(tool, ['fault', 'fault']);
  expect(lab.refusal(tool)).toBeNull();
  await lab.run(tool, ['fault']);
  lab.clock.nowMs = 2500.5;
  expect(lab.refusal(tool)).toBe(7500);
  expect(lab.begin(tool)).toEqual({ kind: 'refused', retryAfterMs: 7500 });
  expect(lab.changes).toEqual(['search open']);
});

test('a success in between begins the row anew', async () => {
  const lab = createCircuitLab({ failures: 3 });
  await lab.run(tool, ['fault', 'fault', 'success', 'fault', 'fault']);
  expect(lab.refusal(tool)).toBeNull();
  await lab.run(tool, ['fault']);
  expect(lab.refusal(tool)).toBe(10_000);
});

test('faults of one batch count once', async () => {
  const lab = createCircuitLab({ failures: 2 });
  const batch = {};
  await lab.run(tool, ['fault', 'fault', 'fault', 'fault'], { batch });
  expect(lab.refusal(tool)).toBeNull();
  await lab.run(tool, ['fault']);
  expect(lab.refusal(tool)).toBe(10_000);
});

test('calls that run beside each other count like those that run one after the other', async () => {
  const lab = createCircuitLab({ failures: 2 });
  const [one, two] = [{}, {}];
  const calls = [one, one, two].map((batch) => lab.start(tool, { batch }));
  for (const ended of calls.slice(0, 2)) ended(ENDS.fault, 'own');
  await settled();
  expect(lab.refusal(tool)).toBeNull();
  for (const ended of calls.slice(2)) ended(ENDS.fault, 'own');
  await settled();
  expect(lab.refusal(tool)).toBe(10_000);
});

test('what the model or the service did wrong neither opens a circuit nor interrupts a row of faults', async () => {
  const lab = createCircuitLab({ failures: 3 });
  await lab.run(
    tool,
    Array.from({ length: 20 }, () => 'neither' as const),
  );
  expect(lab.refusal(tool)).toBeNull();
  await lab.run(tool, ['fault', 'neither', 'fault', 'neither', 'fault']);
  expect(lab.refusal(tool)).toBe(10_000);
});

test('timeouts at a limit that callers shortened open nothing, those at the own limit of the tool do', async () => {
  const lab = createCircuitLab({ failures: 2 });
  for (const limit of ['shortened', 'shortened', 'shortened', 'own'] as const) lab.start(tool)(endOf('timeout'), limit);
  await settled();
  expect(lab.refusal(tool)).toBeNull();
  lab.start(tool)(endOf('timeout'), 'own');
  await settled();
  expect(lab.refusal(tool)).toBe(10_000);
});

test('a service with no breaker lets every call run', async () => {
  const lab = createCircuitLab({ failures: 0 });
  await lab.run(
    tool,
    Array.from({ length: 50 }, () => 'fault' as const),
  );
  expect(lab.refusal(tool)).toBeNull();
  expect(lab.changes).toEqual([]);
});

test('a call that began before the circuit opened changes nothing when it ends, whichever way', async () => {
  const lab = createCircuitLab({ failures: 1 });
  const early = [lab.start(tool), lab.start(tool), lab.start(tool)];
  await lab.run(tool, ['fault']);
  lab.clock.nowMs = 4000;
  early[0]?.(ENDS.success, 'own');
  early[1]?.(ENDS.fault, 'own');
  await settled();
  expect(lab.refusal(tool)).toBe(6000);
  lab.clock.nowMs = 10_000;
  const probe = lab.start(tool);
  early[2]?.(ENDS.success, 'own');
  await settled();
  expect(lab.begin(tool)).toEqual({ kind: 'refused', retryAfterMs: 1000 });
  probe(ENDS.success, 'own');
  await settled();
  expect(lab.changes).toEqual(['search open', 'search half_open', 'search closed']);
});

test('a tool that is loaded anew keeps its circuit, and other tools have their own', async () => {
  const lab = createCircuitLab({ failures: 2 });
  await lab.run(tool, ['fault']);
  const reloaded = createTool('search', { description: 'Another version.' });
  await lab.run(reloaded, ['fault']);
  expect(lab.refusal(reloaded)).toBe(10_000);
  expect(lab.refusal(createTool('search2'))).toBeNull();
});

test('each upstream of a tool has a circuit of its own, beside that of the tool as a whole', async () => {
  const lab = createCircuitLab({ failures: 1 });
  const fetching = createTool('fetch', { breakerKey: 'origin' });
  await lab.run(fetching, ['fault'], { input: { origin: 'https://one.example' } });
  expect(lab.refusal(fetching, { origin: 'https://one.example' })).toBe(10_000);
  expect(lab.refusal(fetching, { origin: 'https://two.example' })).toBeNull();
  expect(lab.refusal(fetching)).toBeNull();
  await lab.run(fetching, ['fault']);
  lab.clock.nowMs = 10_000;
  await lab.run(fetching, ['success'], { input: { origin: 'https://one.example' } });
  expect(lab.begin(fetching).kind).toBe('passed');
  expect(lab.begin(fetching)).toEqual({ kind: 'refused', retryAfterMs: 1000 });
});

test('the observer hears of the worst state over the upstreams of a tool, when it is another one', async () => {
  const lab = createCircuitLab({ failures: 1, openMs: 10_000 });
  const fetching = createTool('fetch', { breakerKey: 'origin' });
  const one = { input: { origin: 'one' } };
  const two = { input: { origin: 'two' } };
  await lab.run(fetching, ['fault'], one);
  lab.clock.nowMs = 1000;
  await lab.run(fetching, ['fault'], two);
  expect(lab.changes).toEqual(['fetch open']);
  lab.clock.nowMs = 10_500;
  await lab.run(fetching, ['success'], one);
  expect(lab.changes).toEqual(['fetch open']);
  lab.clock.nowMs = 11_000;
  const probe = lab.start(fetching, two);
  expect(lab.changes).toEqual(['fetch open', 'fetch half_open']);
  probe(ENDS.success, 'own');
  await settled();
  expect(lab.changes).toEqual(['fetch open', 'fetch half_open', 'fetch closed']);
});

test('of more upstreams with a fault than there is memory for the one not asked for longest is forgotten', async () => {
  // A hundredth of it is for circuits: a hundred of them and a bit.
  const lab = createCircuitLab({ failures: 1, memory: roomyMemory(8_500_000) });
  const fetching = createTool('fetch', { breakerKey: 'origin' });
  const isOpen = (origin: string): boolean => lab.refusal(fetching, { origin }) !== null;
  await lab.run(createTool('other'), ['fault']);
  for (let index = 0; index < 99; index += 1)
    lab.start(fetching, { input: { origin: `origin ${index}` } })(ENDS.fault, 'own');
  await settled();
  expect(isOpen('origin 0')).toBe(true);
  expect(lab.refusal(createTool('other'))).toBe(10_000);
  for (let index = 100; index < 150; index += 1)
    lab.start(fetching, { input: { origin: `origin ${index}` } })(ENDS.fault, 'own');
  await settled();
  expect([isOpen('origin 1'), isOpen('origin 0'), isOpen('origin 149')]).toEqual([false, true, true]);
  expect(lab.refusal(createTool('other'))).toBe(10_000);
  for (let index = 2000; index < 2200; index += 1)
    await lab.run(fetching, ['fault'], { input: { origin: `origin ${index}` } });
  expect(lab.changes).toEqual(['other open', 'fetch open', 'other closed']);
});
