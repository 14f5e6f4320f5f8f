import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createFairTurns } from '#src/jobs/fair-turns.ts';

type Waiting = { readonly tenant: string; readonly call: string; tag: number; readonly order: number };

/** A lane as simple as can be: the rule says the tags, and the lowest one, then the oldest job, runs next. */
const createLane = (highestTag?: number) => {
  const turns = createFairTurns(highestTag);
  const waiting: Waiting[] = [];
  let calls = 0;
  return {
    waiting,
    offer: (tenant: string): string => {
      calls += 1;
      const call = `${tenant}${calls}`;
      waiting.push({ tenant, call, order: calls, tag: turns.offer(tenant, call) });
      return call;
    },
    start: (): Waiting | undefined => {
      const [next] = waiting.toSorted((a, b) => a.tag - b.tag || a.order - b.order);
      if (next === undefined) return undefined;
      waiting.splice(waiting.indexOf(next), 1);
      turns.take(next.tenant, next.call, next.tag);
      return next;
    },
    remove: (position: number): void => {
      const [gone] = waiting.splice(position % Math.max(1, waiting.length), 1);
      if (gone === undefined) return;
      const moved = turns.remove(gone.tenant, gone.call, gone.tag);
      const youngest = waiting.find(({ call }) => call === moved?.call);
      if (youngest !== undefined && moved !== null) youngest.tag = moved.tag;
    },
  };
};

const TENANTS = ['a', 'b', 'c', 'd'];
const Step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('offer' as const), tenant: fc.constantFrom(...TENANTS) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('flood' as const), tenant: fc.constantFrom(...TENANTS) }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('start' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('remove' as const), position: fc.nat(50) }) },
);

type Lane = ReturnType<typeof createLane>;
type LaneStep = typeof Step extends fc.Arbitrary<infer Value> ? Value : never;

const perform = (lane: Lane, step: LaneStep): Waiting | undefined => {
  if (step.kind === 'start') return lane.start();
  if (step.kind === 'remove') lane.remove(step.position);
  if (step.kind === 'offer') lane.offer(step.tenant);
  if (step.kind === 'flood') for (let count = 0; count < 20; count += 1) lane.offer(step.tenant);
  return undefined;
};

const has = (lane: Lane, tenant: string): boolean => lane.waiting.some((one) => one.tenant === tenant);

/** How many more starts than `watched` had another tenant, at the most, in any time in which `watched` had jobs waiting. */
const longestLead = (steps: readonly LaneStep[], watched: string, other: string): number => {
  const lane = createLane();
  let [lead, longest] = [0, 0];
  for (const step of steps) {
    const waits = has(lane, watched);
    const started = perform(lane, step)?.tenant;
    const change = Number(started === other) - Number(started === watched);
    lead = waits ? Math.max(0, lead + change) : 0;
    longest = Math.max(longest, lead);
  }
  return longest;
};

const PAIRS = [
  ['a', 'b'],
  ['b', 'a'],
  ['c', 'd'],
] as const;

describe('turns of tenants', () => {
  test('while a tenant waits and starts n jobs, each other tenant starts at most n + 2', () => {
    void fc.assert(
      fc.property(
        fc.array(Step, { maxLength: 120, size: 'max' }),
        fc.constantFrom(...PAIRS),
        (steps, [watched, other]) => {
          expect(longestLead(steps, watched, other)).toBeLessThanOrEqual(2);
        },
      ),
      { numRuns: 1000 },
    );
  });

  test('the first job of a tenant that is new to the lane waits for one start of each other tenant at most', () => {
    void fc.assert(
      fc.property(fc.array(Step, { maxLength: 120, size: 'max' }), (steps) => {
        const lane = createLane();
        for (const step of steps) perform(lane, step);
        if (has(lane, 'new')) return;
        const call = lane.offer('new');
        const before: string[] = [];
        for (let next = lane.start(); next !== undefined && next.call !== call; next = lane.start())
          before.push(next.tenant);
        expect(new Set(before).size).toBe(before.length);
      }),
      { numRuns: 1000 },
    );
  });

  test('of a thousand jobs waiting, one has started: another tenant’s first job is next', () => {
    const lane = createLane();
    for (let count = 0; count < 1000; count += 1) lane.offer('a');
    expect(lane.start()?.call).toBe('a1');
    const call = lane.offer('b');
    expect(lane.start()?.call).toBe(call);
    expect(lane.start()?.call).toBe('a2');
  });

  test('a tenant that always has one job waiting keeps no other from its turns', () => {
    const lane = createLane();
    lane.offer('a');
    for (let count = 0; count < 10; count += 1) lane.offer('b');
    const started: string[] = [];
    for (let count = 0; count < 10; count += 1) {
      const tenant = lane.start()?.tenant ?? '';
      started.push(tenant);
      if (tenant === 'a') lane.offer('a');
    }
    expect(started.join('')).toBe('abbabababa');
  });

  test('a lane that was empty begins anew, also after a tenant had many turns', () => {
    const lane = createLane();
    for (let count = 0; count < 50; count += 1) lane.offer('a');
    while (lane.start() !== undefined);
    lane.offer('a');
    expect(lane.waiting[0]?.tag).toBe(1);
  });

  test('beyond the highest tag jobs run in the order in which they came', () => {
    const lane = createLane(3);
    const calls = [...'aaaaabb'].map((tenant) => lane.offer(tenant));
    lane.remove(3);
    expect(calls.map(() => lane.start()?.call)).toEqual(['a1', 'b6', 'a2', 'b7', 'a3', 'a5', undefined]);
  });
});
