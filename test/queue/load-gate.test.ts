import { expect, test } from 'vitest';
import { createLoadGate, type LoadGate, type LoadSample, type RefusalReason } from '#src/queue/load-gate.ts';

const CALM: LoadSample = { lagMs: 1, utilization: 0.3, memory: 0.2, files: 0.1 };
const LAGGING: LoadSample = { lagMs: 400, utilization: 1, memory: 0.2, files: 0.1 };

type Turns = { readonly started: number; readonly dropped: number };
type Lab = { readonly gate: LoadGate; readonly counted: RefusalReason[]; readonly clock: { ms: number }; turns: Turns };

const createLab = (slots: { readonly full?: readonly string[]; readonly idle?: boolean } = {}): Lab => {
  const counted: RefusalReason[] = [];
  const clock = { ms: 0 };
  const lab = { counted, clock, turns: { started: 100, dropped: 0 } };
  const gate = createLoadGate({
    slots: {
      isFullFor: (caller) => slots.full?.includes(caller) ?? false,
      isIdle: () => slots.idle ?? false,
      retryAfterMs: () => 2300,
      takeStartCounts: () => lab.turns,
    },
    maxLagMs: 250,
    now: () => clock.ms,
    onShed: (reason) => counted.push(reason),
  });
  return Object.assign(lab, { gate });
};

const observe = (gate: LoadGate, sample: LoadSample, times: number): void => {
  for (let interval = 0; interval < times; interval += 1) gate.observe(sample);
};

/** How many of so many batches are refused. */
const refusedOf = (gate: LoadGate, batches: number, caller = 'a'): number =>
  Array.from({ length: batches }, () => gate.shed(caller)).filter((refusal) => refusal !== null).length;

test('a service that does well takes every batch', () => {
  const { gate, counted } = createLab();
  expect(refusedOf(gate, 100)).toBe(0);
  observe(gate, CALM, 100);
  expect(refusedOf(gate, 100)).toBe(0);
  expect(counted).toEqual([]);
});

test('a full queue refuses those it is full of, until it should be empty', () => {
  const { gate, counted } = createLab({ full: ['a'] });
  expect(gate.shed('a')).toEqual({ reason: 'queue', retryAfterSeconds: 3 });
  expect(gate.shed('b')).toBe(null);
  expect(counted).toEqual(['queue']);
});

test('scarce memory refuses everybody while anything runs, and lets one in when nothing does', () => {
  const busy = createLab();
  busy.gate.observe({ ...CALM, memory: 0.9 });
  expect(busy.gate.shed('a')).toBe(null);
  busy.gate.observe({ ...CALM, memory: 0.91 });
  expect(busy.gate.shed('a')).toEqual({ reason: 'memory', retryAfterSeconds: 5 });
  busy.gate.observe(CALM);
  expect(busy.gate.shed('a')).toBe(null);
  const idle = createLab({ idle: true });
  idle.gate.observe({ ...CALM, memory: 0.99 });
  expect(idle.gate.shed('a')).toBe(null);
});

test('scarce file descriptors refuse everybody while anything runs, and let one in when nothing does', () => {
  const busy = createLab();
  busy.gate.observe({ ...CALM, files: 0.9 });
  expect(busy.gate.shed('a')).toBe(null);
  busy.gate.observe({ ...CALM, files: 0.91 });
  expect(busy.gate.shed('a')).toEqual({ reason: 'files', retryAfterSeconds: 2 });
  expect(busy.counted).toEqual(['files']);
  busy.gate.observe(CALM);
  expect(busy.gate.shed('a')).toBe(null);
  const idle = createLab({ idle: true });
  idle.gate.observe({ ...CALM, files: 1 });
  expect(idle.gate.shed('a')).toBe(null);
});

test('the longer the event loop lags, the more batches are refused, and some are always let in', () => {
  const { gate, counted } = createLab();
  const refused = [3, 4, 15, 50].map((intervals) => {
    observe(gate, LAGGING, intervals);
    return refusedOf(gate, 100);
  });
  expect(refused[0]).toBe(31);
  expect(refused[1]).toBeGreaterThan(60);
  expect(refused[2]).toBe(95);
  expect(refused[3]).toBe(95);
  expect(new Set(counted)).toEqual(new Set(['event_loop']));
  expect(gate.shed('a') ?? gate.shed('a')).toEqual({ reason: 'event_loop', retryAfterSeconds: 1 });
});

test('one long block refuses nobody, nor do two, and a short spell is forgotten within a second', () => {
  const { gate } = createLab();
  for (let block = 0; block < 5; block += 1) {
    observe(gate, { lagMs: 5000, utilization: 1, memory: 0.2, files: 0.1 }, 2);
    observe(gate, CALM, 1);
  }
  expect(refusedOf(gate, 100)).toBe(0);
  observe(gate, LAGGING, 3);
  expect(refusedOf(gate, 100)).toBe(31);
  observe(gate, CALM, 10);
  expect(refusedOf(gate, 100)).toBe(0);
});

test('a process that was not given the processor refuses nobody for that', () => {
  const { gate } = createLab();
  observe(gate, { lagMs: 3000, utilization: 0.2, memory: 0.2, files: 0.1 }, 20);
  expect(refusedOf(gate, 100)).toBe(0);
});

test('two callers that take turns are refused equally often', () => {
  const { gate } = createLab();
  observe(gate, LAGGING, 5);
  const refused = { a: 0, b: 0 };
  for (let batch = 0; batch < 500; batch += 1)
    for (const caller of ['a', 'b'] as const) refused[caller] += refusedOf(gate, 1, caller);
  expect(refused.a).toBeGreaterThan(200);
  expect(Math.abs(refused.a - refused.b)).toBeLessThan(10);
});

test.each([2, 5, 10])(
  'under %i times the load it can bear, what it lets in stays near that and does not swing',
  (times) => {
    const { gate } = createLab();
    const capacity = 100;
    const admitted: number[] = [];
    for (let interval = 0; interval < 400; interval += 1) {
      const letIn = times * capacity - refusedOf(gate, times * capacity);
      admitted.push(letIn);
      gate.observe(letIn > capacity ? LAGGING : CALM);
    }
    const settled = admitted.slice(100);
    const mean = settled.reduce((sum, letIn) => sum + letIn, 0) / settled.length;
    expect(mean).toBeGreaterThan(80);
    expect(mean).toBeLessThan(125);
    expect(Math.min(...settled)).toBeGreaterThan(60);
    expect(Math.max(...settled)).toBeLessThan(150);
  },
);

test('a queue that drops what it was given refuses a share at the door, and a few calls in a hurry do not', () => {
  const lab = createLab();
  lab.turns = { started: 90, dropped: 10 };
  observe(lab.gate, CALM, 20);
  expect(refusedOf(lab.gate, 100)).toBe(0);
  lab.turns = { started: 80, dropped: 20 };
  observe(lab.gate, CALM, 2);
  expect(refusedOf(lab.gate, 100)).toBe(0);
  observe(lab.gate, CALM, 10);
  expect(refusedOf(lab.gate, 100)).toBeGreaterThan(70);
  expect(new Set(lab.counted)).toEqual(new Set(['queue']));
  lab.turns = { started: 80, dropped: 0 };
  observe(lab.gate, CALM, 50);
  expect(refusedOf(lab.gate, 100)).toBe(0);
});

test('a loop that only reads and never measures is noticed at the door', () => {
  const { gate, clock, counted } = createLab();
  gate.observe(CALM);
  for (let interval = 0; interval < 3; interval += 1) {
    clock.ms += 349;
    expect(gate.shed('a')).toBe(null);
    clock.ms += 2;
    gate.shed('a');
  }
  expect(refusedOf(gate, 100)).toBeGreaterThan(15);
  expect(new Set(counted)).toEqual(new Set(['event_loop']));
});
