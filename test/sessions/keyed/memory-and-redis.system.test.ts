import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { HeldRecord, KeyedBatch, Opening } from '#src/executor/keyed-store.ts';
import {
  createKeyedBatch,
  createMemoryKeyedUnderTest,
  createRedisKeyedUnderTest,
  type KeyedStoreUnderTest,
  toFinal,
  toRepeatable,
  toResult,
} from '#test/support/keyed-stores-under-test.ts';
import { toRedisClient, useRedis } from '#test/support/session-stores-under-test.ts';

const redis = useRedis();

const CALLS = 3;
const index = fc.nat({ max: CALLS - 1 });
// One of the tries so far, the last more often than those before it.
const which = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat({ max: 3 }));
const commit = fc.uniqueArray(fc.record({ index, kind: fc.constantFrom('final', 'repeatable') }), {
  selector: (result) => result.index,
  maxLength: CALLS,
});

const storeStep = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      name: fc.constant('open' as const),
      body: fc.constantFrom('a', 'a', 'a', 'b'),
      request: index,
    }),
  },
  { weight: 3, arbitrary: fc.record({ name: fc.constant('lapse' as const) }) },
  fc.record({ name: fc.constant('find' as const), request: index }),
  fc.record({ name: fc.constant('forget' as const) }),
);
const heldStep = fc.oneof(
  { weight: 3, arbitrary: fc.record({ name: fc.constant('start' as const), which, index }) },
  { weight: 3, arbitrary: fc.record({ name: fc.constant('commit' as const), which, results: commit }) },
  fc.record({ name: fc.constant('renew' as const), which }),
  fc.record({ name: fc.constant('amend' as const), which, index }),
);
type Drawn<Arbitrary> = Arbitrary extends fc.Arbitrary<infer One> ? One : never;
type StoreStep = Drawn<typeof storeStep>;
type HeldStep = Drawn<typeof heldStep>;

const describeOpening = (opening: Opening): unknown => {
  if (opening.kind === 'in_flight') return 'in_flight';
  return opening.kind === 'held' ? [...opening.record.earlier].toSorted(([one], [other]) => one - other) : opening;
};

/** One key of a store, and those that have held its record, the last first. */
type World = { readonly subject: KeyedStoreUnderTest; readonly batch: KeyedBatch; readonly tries: HeldRecord[] };

const takeStoreStep = async ({ subject, batch, tries }: World, step: StoreStep): Promise<unknown> => {
  switch (step.name) {
    case 'open': {
      const requestKey = `${batch.requestKey}-${step.request}`;
      const opening = await subject.store.open({ ...batch, requestKey, body: step.body });
      if (opening.kind === 'held') tries.unshift(opening.record);
      return describeOpening(opening);
    }
    case 'find':
      return subject.store.find(`${batch.requestKey}-${step.request}`);
    default:
      return subject[step.name](batch.recordKey);
  }
};

const takeHeldStep = async ({ tries }: World, step: HeldStep, text: string): Promise<unknown> => {
  const record = tries[step.which];
  switch (step.name) {
    case 'start':
      return record?.start(step.index);
    case 'renew':
      return record?.renew();
    case 'amend':
      return record?.amend(step.index, toResult(step.index, `late ${text}`));
    case 'commit':
      return record?.commit(
        step.results.map((one) => (one.kind === 'final' ? toFinal(one.index, text) : toRepeatable(one.index))),
      );
  }
};

/** Takes the steps one after the other and writes down what each was told. */
const take = async (world: World, steps: readonly (StoreStep | HeldStep)[]): Promise<readonly unknown[]> => {
  const told: unknown[] = [];
  for (const [position, step] of steps.entries())
    told.push(await ('which' in step ? takeHeldStep(world, step, `of ${position}`) : takeStoreStep(world, step)));
  return told;
};

test('whatever is done to a key, memory and Redis tell the same', async () => {
  const everyStep = fc.array(fc.oneof(storeStep, heldStep), { minLength: 4, maxLength: 30, size: 'max' });
  await fc.assert(
    fc.asyncProperty(everyStep, async (steps) => {
      const batch = createKeyedBatch({ calls: CALLS });
      const createWorld = (subject: KeyedStoreUnderTest): World => ({ subject, batch, tries: [] });
      const inRedis = await take(createWorld(createRedisKeyedUnderTest(toRedisClient(redis()), {})), steps);
      const inMemory = await take(createWorld(createMemoryKeyedUnderTest({})), steps);
      expect(inRedis).toEqual(inMemory);
      const leftMs = await redis().pttl(`recourse:{${batch.recordKey}}:keyed`);
      expect(leftMs).not.toBe(-1);
    }),
    { numRuns: 500 },
  );
});
