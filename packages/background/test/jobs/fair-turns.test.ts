import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FairLane } from '#src/jobs/fair-lane.ts';
import { createFairTurns } from './fair-turns-model.ts';

type Waiting = { readonly job: { readonly tenant: string; readonly call: string; readonly lane: 'default' } };
type Lane = {
  readonly waiting: readonly Waiting[];
  readonly offer: (tenant: string) => string;
  readonly start: () => Waiting['job'] | undefined;
  readonly remove: (position: number) => void;
};

/** What waits in the order in which it was offered, with calls that are named after their tenant and place. */
const createWaiting = () => {
  const waiting: Waiting[] = [];
  let calls = 0;
  return {
    waiting,
    add: (tenant: string): Waiting => {
      calls += 1;
      const entry: Waiting = { job: { tenant, call: `${tenant}${calls}`, lane: 'default' } };
      waiting.push(entry);
      return entry;
    },
    delete: (entry: Waiting): void => void waiting.splice(waiting.indexOf(entry), 1),
    at: (position: number): Waiting | undefined => waiting[position % Math.max(1, waiting.length)],
  };
};

/** A lane of this process. */
const createMemoryLane = (): Lane => {
  const lane = new FairLane<Waiting>();
  const { waiting, ...list } = createWaiting();
  return {
    waiting,
    offer: (tenant) => {
      const entry = list.add(tenant);
      lane.offer(entry);
      return entry.job.call;
    },
    start: () => {
      const next = lane.take();
      expect([...lane.waiting()]).toHaveLength(waiting.length - (next === undefined ? 0 : 1));
      if (next !== undefined) list.delete(next);
      return next?.job;
    },
    remove: (position) => {
      const gone = list.at(position);
      if (gone === undefined) return;
      list.delete(gone);
      lane.remove(gone);
    },
  };
};

/** A lane in Redis as simple as can be: the rule of its script says the tags, and the lowest one, then the oldest job, runs next. */
const createModelLane = (): Lane => {
  const turns = createFairTurns();
  const tags = new Map<string, number>();
  const { waiting, ...list } = createWaiting();
  const tagOf = ({ job }: Waiting): number => tags.get(job.call) ?? 0;
  return {
    waiting,
    offer: (tenant) => {
      const { job } = list.add(tenant);
      tags.set(job.call, turns.offer(tenant, job.call));
      return job.call;
    },
    start: () => {
      const [next] = waiting.toSorted((one, other) => tagOf(one) - tagOf(other));
      if (next === undefined) return undefined;
      list.delete(next);
      turns.take(next.job.tenant, next.job.call, tagOf(next));
      return next.job;
    },
    remove: (position) => {
      const gone = list.at(position);
      if (gone === undefined) return;
      list.delete(gone);
      const moved = turns.remove(gone.job.tenant, gone.job.call, tagOf(gone));
      if (moved !== null) tags.set(moved.call, moved.tag);
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

type LaneStep = typeof Step extends fc.Arbitrary<infer Value> ? Value : never;

const perform = (lane: Lane, step: LaneStep): Waiting['job'] | undefined => {
  if (step.kind === 'start') return lane.start();
  if (step.kind === 'remove') lane.remove(step.position);
  if (step.kind === 'offer') lane.offer(step.tenant);
  if (step.kind === 'flood') for (let count = 0; count < 20; count += 1) lane.offer(step.tenant);
  return undefined;
};

const has = (lane: Lane, tenant: string): boolean => lane.waiting.some(({ job }) => job.tenant === tenant);

/** How many more starts than `watched` had another tenant, at the most, in any time in which `watched` had jobs waiting. */
const longestLead = (lane: Lane, steps: readonly LaneStep[], watched: string, other: string): number => {
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

describe.each([
  ['in this process', createMemoryLane, 'ababababab'],
  ['by the rule of the script of Redis', createModelLane, 'abbabababa'],
])('turns of tenants %s', (_where, createLane, turnsOfTwo) => {
  test('while a tenant waits and starts n jobs, each other tenant starts at most n + 2', () => {
    void fc.assert(
      fc.property(
        fc.array(Step, { maxLength: 120, size: 'max' }),
        fc.constantFrom(...PAIRS),
        (steps, [watched, other]) => {
          expect(longestLead(createLane(), steps, watched, other)).toBeLessThanOrEqual(2);
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
    expect(started.join('')).toBe(turnsOfTwo);
  });

  test('a lane that was empty begins anew, also after a tenant had many turns', () => {
    const lane = createLane();
    for (let count = 0; count < 50; count += 1) lane.offer('a');
    while (lane.start() !== undefined);
    for (const tenant of 'aab') lane.offer(tenant);
    // With the tags of before, `b` would be first: it has had no turn.
    expect([1, 2, 3].map(() => lane.start()?.tenant)).toEqual(['a', 'b', 'a']);
  });

  test('a tenant that removes its jobs is not behind their turns', () => {
    const lane = createLane();
    for (let count = 0; count < 20; count += 1) lane.offer('a');
    for (let count = 0; count < 19; count += 1) lane.remove(0);
    lane.offer('b');
    lane.offer('a');
    lane.offer('b');
    expect([1, 2, 3, 4].map(() => lane.start()?.tenant)).toEqual(['a', 'b', 'a', 'b']);
  });
});

test('the last slot goes to the next job whose tenant has nothing running, also where it comes again', () => {
  const lane = new FairLane<Waiting>();
  const [first, second, third, fourth] = ['a', 'a', 'b', 'a'].map((tenant, at) => {
    const entry: Waiting = { job: { tenant, call: `${tenant}${at}`, lane: 'default' } };
    if (at < 3) lane.offer(entry);
    else lane.offerAgain(entry);
    return entry;
  });
  expect(lane.take(new Map([['a', 1]]))).toBe(third);
  expect(lane.take(new Map([['a', 1]]))).toBeUndefined();
  expect([lane.take(), lane.take(), lane.take()]).toEqual([fourth, first, second]);
});
