import {
  createKeyedBatch,
  createMemoryKeyedUnderTest,
  createRedisKeyedUnderTest,
  createSqliteKeyedUnderTest,
  findWhole,
  type KeyedStoreUnderTest,
  toFinal,
  toRepeatable,
  toResult,
} from '@recourse/test-support/idempotency-stores-under-test.ts';
import { createManualClock, toRedisClient, useRedis } from '@recourse/test-support/session-stores-under-test.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { KeyedBatch, LeasedRecord, Opening } from '#src/executor/idempotency-store.ts';

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
      key: fc.constantFrom('one', 'one', 'one', 'two'),
      request: index,
      replica: fc.nat({ max: 1 }),
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

/** What two replicas of a store keep of two keys, and the tries that have held a record, the last first. */
type World = {
  readonly replicas: readonly [KeyedStoreUnderTest, KeyedStoreUnderTest];
  readonly batch: KeyedBatch;
  readonly tries: LeasedRecord[];
  readonly forget: () => Promise<void>;
};

const takeStoreStep = async ({ replicas, batch, tries, forget }: World, step: StoreStep): Promise<unknown> => {
  const [first, second] = replicas;
  switch (step.name) {
    case 'open': {
      const requestKey = `${batch.requestKey}-${step.request}`;
      const recordKey = `${batch.recordKey}-${step.key}`;
      const { store } = step.replica === 0 ? first : second;
      const opening = await store.open({ ...batch, recordKey, requestKey, body: step.body });
      if (opening.kind === 'held') tries.unshift(opening.record);
      return describeOpening(opening);
    }
    case 'find':
      return findWhole(first.store, `${batch.requestKey}-${step.request}`);
    case 'lapse':
      return first.lapse('');
    default:
      return forget();
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

const toWorld = (subject: KeyedStoreUnderTest, batch: KeyedBatch): World => ({
  replicas: [subject, subject],
  batch,
  tries: [],
  forget: () => subject.forget(''),
});

const createRedisWorld = (batch: KeyedBatch): World => {
  const clock = createManualClock(0);
  const client = toRedisClient(redis());
  const replicas = [
    createRedisKeyedUnderTest(client, {}, clock),
    createRedisKeyedUnderTest(client, {}, clock),
  ] as const;
  return { replicas, batch, tries: [], forget: async () => void (await redis().flushdb()) };
};

test('whatever is done to two keys, memory, SQLite and two replicas on Redis tell the same', async () => {
  const everyStep = fc.array(fc.oneof(storeStep, heldStep), { minLength: 4, maxLength: 40, size: 'max' });
  await fc.assert(
    fc.asyncProperty(everyStep, async (steps) => {
      const batch = createKeyedBatch({ calls: CALLS });
      const inMemory = await take(toWorld(createMemoryKeyedUnderTest({}), batch), steps);
      expect(await take(toWorld(createSqliteKeyedUnderTest({}), batch), steps)).toEqual(inMemory);
      expect(await take(createRedisWorld(batch), steps)).toEqual(inMemory);
      for (const name of await redis().keys('*')) expect(await redis().pttl(name)).toBeGreaterThan(0);
      await redis().flushdb();
    }),
    { numRuns: 500 },
  );
});
