import { asBatch, createCircuitLab, createTool, ENDS, type End, settled } from '@recourse/test-support/circuit-lab.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';

const RUNS = 500;
const OPEN_MS = 100;
const TIMEOUT_MS = 40;
const UPSTREAMS = ['one', 'two'] as const;
const BATCHES = [{}, {}, {}] as const;

const tool = createTool('fetch', { breakerKey: 'origin', timeoutMs: TIMEOUT_MS });

type Upstream = (typeof UPSTREAMS)[number];
type Batch = (typeof BATCHES)[number];
type Call = { readonly upstream: Upstream; readonly batch: Batch; readonly kind: 'ordinary' | 'probe' };

/** What a circuit is, told plainly. Times in milliseconds. */
type PlainCircuit = {
  state: 'closed' | 'open' | 'half_open';
  row: Batch[];
  openedAt: number;
  probe: { readonly call: Call; readonly until: number } | null;
};

const createPlainModel = (failures: number) => {
  const circuits: Record<Upstream, PlainCircuit> = {
    one: { state: 'closed', row: [], openedAt: 0, probe: null },
    two: { state: 'closed', row: [], openedAt: 0, probe: null },
  };
  const refusal = (upstream: Upstream, now: number): number | null => {
    const { state, openedAt, probe } = circuits[upstream];
    if (state === 'open' && now < openedAt + OPEN_MS) return openedAt + OPEN_MS - now;
    return state === 'half_open' && probe !== null && now < probe.until ? OPEN_MS : null;
  };
  const begin = (upstream: Upstream, batch: Batch, now: number): Call => {
    const circuit = circuits[upstream];
    if (circuit.state === 'closed') return { upstream, batch, kind: 'ordinary' };
    const call: Call = { upstream, batch, kind: 'probe' };
    circuit.state = 'half_open';
    circuit.probe = { call, until: now + OPEN_MS + TIMEOUT_MS };
    return call;
  };
  const open = (circuit: PlainCircuit, now: number): void => {
    circuit.state = 'open';
    circuit.openedAt = now;
    circuit.probe = null;
  };
  const endProbe = (call: Call, end: keyof typeof ENDS, now: number): void => {
    const circuit = circuits[call.upstream];
    if (circuit.probe?.call !== call) return;
    circuit.probe = null;
    if (end === 'fault') open(circuit, now);
    if (end !== 'success') return;
    circuit.state = 'closed';
    circuit.row = [];
  };
  const endOrdinary = ({ upstream, batch }: Call, end: keyof typeof ENDS, now: number): void => {
    const circuit = circuits[upstream];
    if (circuit.state !== 'closed') return;
    if (end === 'success') circuit.row = [];
    if (end !== 'fault' || circuit.row.includes(batch)) return;
    circuit.row.push(batch);
    if (circuit.row.length === failures) open(circuit, now);
  };
  return {
    refusal,
    begin,
    end: (call: Call, end: keyof typeof ENDS, now: number): void =>
      call.kind === 'probe' ? endProbe(call, end, now) : endOrdinary(call, end, now),
    worst: (): string => {
      const states = UPSTREAMS.map((upstream) => circuits[upstream].state);
      return ['open', 'half_open'].find((state) => states.some((one) => one === state)) ?? 'closed';
    },
  };
};

type Step =
  | { readonly kind: 'begin'; readonly upstream: Upstream; readonly batch: Batch }
  | { readonly kind: 'end'; readonly which: number; readonly end: keyof typeof ENDS }
  | { readonly kind: 'wait'; readonly ms: number };

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('begin' as const),
      upstream: fc.constantFrom('one' as const, 'one' as const, 'two' as const),
      batch: fc.constantFrom(...BATCHES),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('end' as const),
      which: fc.nat(3),
      end: fc.constantFrom('fault' as const, 'fault' as const, 'success' as const, 'neither' as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.constantFrom(1, 30, 99, 100, 139, 140) }),
  },
);

type Running = { readonly call: Call; readonly ended: End };

/** Takes steps in the breakers and in the model, and compares what both say after each. */
const createPair = (failures: number, seen: { refused: number; probes: number; reopened: number }) => {
  const lab = createCircuitLab({ failures, openMs: OPEN_MS });
  const model = createPlainModel(failures);
  const running: Running[] = [];
  const begin = (upstream: Upstream, batch: Batch): void => {
    const expected = model.refusal(upstream, lab.clock.nowMs);
    const pass = lab.begin(tool, { input: { origin: upstream }, batch });
    if (pass.kind === 'refused') {
      seen.refused += 1;
      expect(pass.retryAfterMs).toBe(expected);
      return;
    }
    expect(expected).toBeNull();
    const call = model.begin(upstream, batch, lab.clock.nowMs);
    if (call.kind === 'probe') seen.probes += 1;
    running.push({ call, ended: (end, limit) => pass.ended(end, limit, asBatch(batch)) });
  };
  const end = (which: number, how: keyof typeof ENDS): void => {
    const [one] = running.splice(which % Math.max(1, running.length), 1);
    if (one === undefined) return;
    one.ended(ENDS[how], 'own');
    model.end(one.call, how, lab.clock.nowMs);
    if (one.call.kind === 'probe' && model.worst() === 'open' && how === 'fault') seen.reopened += 1;
  };
  const compare = (): void => {
    for (const upstream of UPSTREAMS)
      expect(lab.refusal(tool, { origin: upstream })).toBe(model.refusal(upstream, lab.clock.nowMs));
    expect(lab.changes.at(-1) ?? 'fetch closed').toBe(`fetch ${model.worst()}`);
  };
  return async (step: Step): Promise<void> => {
    if (step.kind === 'wait') lab.clock.nowMs += step.ms;
    if (step.kind === 'begin') begin(step.upstream, step.batch);
    if (step.kind === 'end') end(step.which, step.end);
    await settled();
    compare();
  };
};

test('circuits are closed, open and half-open as the plain model is, whatever calls do and whenever', async () => {
  const seen = { refused: 0, probes: 0, reopened: 0 };
  const anySteps = fc.array(anyStep, { minLength: 1, maxLength: 60, size: 'max' });
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 3 }), anySteps, async (failures, steps) => {
      const take = createPair(failures, seen);
      for (const step of steps) await take(step);
    }),
    { numRuns: RUNS },
  );
  // A walk that sees nothing proves nothing.
  expect(seen.refused).toBeGreaterThan(RUNS);
  expect(seen.probes).toBeGreaterThan(RUNS / 5);
  expect(seen.reopened).toBeGreaterThan(RUNS / 20);
});
