import { createDueIndex } from '@recourse/background/jobs/due-index';
import { createRedisApprovalIndex } from '@recourse/background/jobs/redis-due-index';
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
import { anySchedule, type Backend, createTally, playSchedule } from './model/approvals-world.ts';

// PROPERTY_RUNS=10000 for a longer look. 60 of 100 schedules are played in memory, 25 in SQLite, 15 in Redis.
const RUNS = Number(process.env['PROPERTY_RUNS'] ?? 600);
const LIMITS = { ofHolder: 1000, ofAll: 1000 };

const redis = useRedis();

/** All processes of a schedule have the records of one, as all steps of the only process have. */
const embedded =
  (open: typeof openMemoryRecords): Backend =>
  async (now) => {
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
      openStore: () => store,
      live: createDueIndex({ limits: LIMITS, now }),
      pass: async (ms) => pass(ms),
    };
  };

const onRedis: Backend = async () => {
  await redis().flushdb();
  let passed = 0;
  const passes: ((ms: number) => void)[] = [];
  return {
    live: createRedisApprovalIndex(toRedisClient(redis()), LIMITS),
    openStore: () => {
      const { stores, pass } = openRedisRecords([redis()]);
      const [store] = stores;
      if (store === undefined) throw new Error('There is one store for each connection.');
      pass(passed);
      passes.push(pass);
      return store;
    },
    pass: async (ms) => {
      passed += ms;
      for (const pass of passes) pass(ms);
    },
  };
};

const play = async (backend: Backend, part: number): Promise<void> => {
  const tally = createTally();
  await fc.assert(
    fc.asyncProperty(anySchedule, (schedule) => playSchedule(schedule, backend, tally)),
    // A shorter one is found again by its seed.
    { numRuns: Math.ceil(RUNS * part), endOnFailure: true },
  );
  if (process.env['PROPERTY_RUNS'] !== undefined)
    process.stderr.write(`${JSON.stringify({ ...tally, states: [...tally.states] })}\n`);
  expect(Math.min(tally.ran, tally.refused, tally.asked)).toBeGreaterThan(0);
};

const TIME = { timeout: timeLimit(Math.max(30_000, RUNS * 40)) };

test(
  'in random schedules of approvals, denials, edits, expiries, deaths, reloads and revoked keys, what runs was approved, and runs once',
  TIME,
  () => play(embedded(openMemoryRecords), 0.6),
);

test('the same in SQLite', TIME, () => play(embedded(openSqliteRecords), 0.25));

test('the same in Redis', TIME, () => play(onRedis, 0.15));
