import { createDueIndex } from '@recourse/background/jobs/due-index';
import { createRedisEffectIndex } from '@recourse/background/jobs/redis-due-index';
import {
  openMemoryRecords,
  openRedisRecords,
  openSqliteRecords,
} from '@recourse/test-support/record-stores-under-test.ts';
import { toRedisClient, useRedis } from '@recourse/test-support/session-stores-under-test.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import fc from 'fast-check';
import type { Kind, RecordStore, Records } from 'recourse-server/store/record-store';
import { expect, test } from 'vitest';
import { anySchedule, type Backend, createTally, playSchedule } from './model/schedule.ts';

// PROPERTY_RUNS=10000 for a longer look, two minutes. 60 of 100 schedules are played in memory, 25 in SQLite, 15 in Redis.
const RUNS = Number(process.env['PROPERTY_RUNS'] ?? 600);
const LIMITS = { ofHolder: 100, ofAll: 100 };

const redis = useRedis();

/** All processes of a schedule have the records of one, as all steps of the only process have. */
const embedded = (open: typeof openMemoryRecords): Backend => {
  const { store: own, pass } = open();
  const opened = new Map<string, unknown>();
  const store: RecordStore = {
    now: own.now,
    open: <State, Saved>(kind: Kind<State, Saved>) => {
      const records = opened.get(kind.name) ?? own.open(kind);
      opened.set(kind.name, records);
      // A kind has one name.
      return records as Records<State>;
    },
  };
  return {
    slackMs: 0,
    open: async (now) => ({
      openStore: () => store,
      live: createDueIndex({ limits: LIMITS, now }),
      pass: async (ms) => pass(ms),
    }),
  };
};

const INDEX = ['recourse2:{effects}:effects', 'recourse2:{effects}:tenants'] as const;

const onRedis = (): Backend => ({
  slackMs: 500,
  open: async () => {
    await redis().del(...INDEX);
    let passed = 0;
    const live = createRedisEffectIndex(toRedisClient(redis()), LIMITS);
    const openStore = () => {
      const { stores, pass } = openRedisRecords([redis()]);
      const [store] = stores;
      if (store === undefined) throw new Error('There is one store for each connection.');
      return { store, pass };
    };
    const passes: ((ms: number) => void)[] = [];
    return {
      live,
      openStore: () => {
        const { store, pass } = openStore();
        pass(passed);
        passes.push(pass);
        return store;
      },
      pass: async (ms) => {
        passed += ms;
        for (const pass of passes) pass(ms);
        for (const entry of await redis().zrange(INDEX[0], '0', '-1')) await redis().zincrby(INDEX[0], -ms, entry);
      },
    };
  },
});

const play = async (backend: Backend, part: number): Promise<void> => {
  const tally = createTally();
  await fc.assert(
    fc.asyncProperty(anySchedule, (schedule) => playSchedule(schedule, backend, tally)),
    // A shorter one is found again by its seed.
    { numRuns: Math.ceil(RUNS * part), endOnFailure: true },
  );
  expect(Math.min(tally.happened, tally.didNotHappen, tally.rerun)).toBeGreaterThan(0);
  // One schedule of a hundred.
  if (tally.schedules > 1000) expect(tally.contradictions).toBeGreaterThan(0);
};

const TIME = { timeout: timeLimit(Math.max(30_000, RUNS * 40)) };

test(
  'in random schedules of processes that die, freeze and come back, a write runs once for each verdict that it did not happen, and a verdict that happened stands',
  TIME,
  () => play(embedded(openMemoryRecords), 0.6),
);

test('the same in SQLite', TIME, () => play(embedded(openSqliteRecords), 0.25));

test('the same in Redis', TIME, () => play(onRedis(), 0.15));
