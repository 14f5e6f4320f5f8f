import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Admission } from '#src/executor/session-store.ts';
import {
  createMemoryUnderTest,
  createRedisUnderTest,
  type StoreUnderTest,
  useRedis,
} from '#test/support/session-stores-under-test.ts';

const RUNS = 300;
const LEASE_MS = 65_000;

const redis = useRedis();

// Wider than what the executor sends: retries that change, flags in any combination, any text.
const anyName = fc.constantFrom('a', 'b', 'c', '_unknown', 'toString', 'é:1');
const anyTools = fc.uniqueArray(fc.record({ name: anyName, retries: fc.nat(3) }), {
  selector: ({ name }) => name,
  maxLength: 4,
});
const anyOutcome = fc.record({
  name: anyName,
  failed: fc.boolean(),
  succeeded: fc.boolean(),
  interrupted: fc.boolean(),
  error: fc.string({ unit: 'grapheme', maxLength: 220 }),
});

/** Plays one step in a session; tells what the store said. */
type Step = (session: {
  readonly subject: StoreUnderTest;
  readonly key: string;
  readonly open: Admission[];
}) => Promise<unknown>;

let batches = 0;

// So that a counterexample can be read.
const named = (text: string, step: Step): Step => Object.assign(step, { [fc.toStringMethod]: () => text });

const anyAdmit = fc.tuple(fc.constantFrom(null, 'r', 's'), anyTools).map(([roundId, tools]) =>
  named(`admit ${roundId} ${JSON.stringify(tools)}`, async ({ subject, key, open }) => {
    batches += 1;
    const round = { sessionKey: key, batchId: `batch_${batches}`, roundId, leaseMs: LEASE_MS, tools };
    const admission = await subject.store.admit(round);
    open.push(admission);
    return Object.fromEntries(admission.permits);
  }),
);
const anySettle = fc
  .tuple(fc.nat(7), fc.uniqueArray(anyOutcome, { selector: ({ name }) => name }))
  .map(([which, outcomes]) =>
    named(`settle ${which} ${JSON.stringify(outcomes)}`, async ({ open }) => {
      const [admission] = open.splice(which % Math.max(1, open.length), 1);
      return admission === undefined ? null : Object.fromEntries(await admission.settle(outcomes));
    }),
  );
const anyAge = fc
  .constantFrom(10_000, 70_000, 110_000)
  .map((ms) => named(`${ms} ms pass`, ({ subject, key }) => subject.age(key, ms)));
const anyForget = fc.constant(named('forget', ({ subject, key }) => subject.forget(key)));

const anySteps = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: anyAdmit },
    { weight: 5, arbitrary: anySettle },
    { weight: 1, arbitrary: anyAge },
    { weight: 1, arbitrary: anyForget },
  ),
  { maxLength: 40, size: '+1' },
);

const play = async (subject: StoreUnderTest, key: string, steps: readonly Step[]): Promise<readonly unknown[]> => {
  const session = { subject, key, open: [] };
  const told: unknown[] = [];
  for (const step of steps) told.push(await step(session));
  return told;
};

test('memory and Redis give the same permits and the same budgets, step by step', { timeout: 120_000 }, async () => {
  const anySettings = fc.record({
    sessionRetries: fc.nat(6),
    cooldownMs: fc.constantFrom(0, 105_000),
    ttlMs: fc.constant(86_400_000),
  });
  await fc.assert(
    fc.asyncProperty(anySettings, anySteps, async (settings, steps) => {
      const key = `both:${randomUUID()}`;
      const inMemory = await play(createMemoryUnderTest(settings), key, steps);
      expect(await play(createRedisUnderTest(redis(), settings), key, steps)).toEqual(inMemory);
    }),
    { numRuns: RUNS },
  );
});
