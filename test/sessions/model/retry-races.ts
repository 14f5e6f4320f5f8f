import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { expect } from 'vitest';
import type { Admission, RoundReport, SessionSettings, SessionStore } from '#src/executor/session-store.ts';

type Race = {
  readonly names: readonly string[];
  readonly retries: number;
  readonly maxCalls: number | null;
  readonly sessionRetries: number;
  readonly sessionCalls: number;
  /** Batches at once, burst by burst. */
  readonly bursts: readonly number[];
};

const toSettings = ({ sessionRetries, sessionCalls }: Race): SessionSettings => ({
  sessionRetries,
  cooldownMs: 0,
  ttlMs: 86_400_000,
  maxCalls: sessionCalls,
  maxRounds: 0,
  journal: 0,
});

const mayRun = (admission: Admission, name: string): boolean => {
  const { decision } = admission.permits.get(name) ?? { decision: 'unavailable' };
  const kind = admission.verdicts[0]?.kind ?? 'run';
  return (decision === 'free' || decision === 'retry') && kind === 'run';
};

/** Its one call fails, if it may run. */
const toFailing = (name: string, runs: boolean): RoundReport => ({
  outcomes: [{ name, failed: runs, succeeded: false, interrupted: false, error: runs ? 'no' : '' }],
  calls: [
    {
      tool: name,
      counts: true,
      callHash: null,
      callEnd: runs ? 'failed' : 'not_run',
      resultHash: null,
      executed: runs,
    },
  ],
  journal: null,
});

/** One burst of batches of one call each, over all stores and tools; gives how many of each tool ran. All of them fail. */
const burst = async (stores: readonly SessionStore[], sessionKey: string, race: Race, size: number) => {
  const asked = Array.from({ length: size }, (_, place) => ({
    name: race.names[place % race.names.length] ?? '',
    store: stores[place % stores.length],
  }));
  const admissions = await Promise.all(
    asked.map(async ({ name, store }) => {
      if (store === undefined) throw new Error('There is no store.');
      const { retries, maxCalls } = race;
      const tool = { name, retries, maxCalls, effects: 'read', polling: false } as const;
      const calls = [{ tool: name, counts: true, callHash: null }];
      const terms = { sessionKey, batchId: randomUUID(), roundId: null, leaseMs: 600_000 };
      return { name, admission: await store.admit({ ...terms, tools: [tool], calls }) };
    }),
  );
  const told = admissions.map(({ name, admission }) => ({ name, admission, runs: mayRun(admission, name) }));
  await Promise.all(told.map(({ name, admission, runs }) => admission.settle(toFailing(name, runs))));
  return told.filter(({ runs }) => runs).map(({ name }) => name);
};

const count = (names: readonly string[], wanted: string): number => names.filter((name) => name === wanted).length;

const check = async (stores: readonly SessionStore[], race: Race): Promise<void> => {
  const sessionKey = `race:${randomUUID()}`;
  const [first = 0, ...later] = race.bursts;
  const free = await burst(stores, sessionKey, race, first);
  const retries: string[] = [];
  for (const size of later) retries.push(...(await burst(stores, sessionKey, race, size)));
  const { maxCalls, sessionCalls, sessionRetries } = race;
  const ran = [...free, ...retries];
  const failing = race.names.filter((name) => free.includes(name));
  for (const name of race.names) {
    expect(count(ran, name)).toBeLessThanOrEqual(maxCalls ?? Number.POSITIVE_INFINITY);
    // A tool that limits kept from its first attempts may have them now; no other runs beyond its retries.
    if (failing.includes(name)) expect(count(retries, name)).toBeLessThanOrEqual(race.retries);
  }
  if (sessionCalls > 0) expect(ran.length).toBeLessThanOrEqual(sessionCalls);
  if (sessionCalls === 0 && maxCalls === null) {
    expect(free).toHaveLength(first);
    // Each of the later bursts asks for more than is left: all of it is used, and not one more.
    expect(retries).toHaveLength(Math.min(failing.length * race.retries, sessionRetries));
  }
  const [record] = await Promise.all(stores.map((store) => store.read(sessionKey)));
  expect(record).toMatchObject({ rounds: race.bursts.reduce((sum, size) => sum + size, 0), calls: ran.length });
  expect(record?.spent).toBeLessThanOrEqual(sessionRetries);
  expect(record?.tools.every(({ open, used }) => open === 0 && used <= race.retries)).toBe(true);
};

const anyRace: fc.Arbitrary<Race> = fc.record({
  names: fc.constantFrom(['a'], ['a', 'b']),
  retries: fc.integer({ min: 0, max: 4 }),
  maxCalls: fc.constantFrom(null, null, 3, 6),
  sessionRetries: fc.constantFrom(20, 5, 3, 1, 0),
  sessionCalls: fc.constantFrom(0, 0, 4, 10),
  bursts: fc.tuple(fc.integer({ min: 2, max: 12 }), fc.constant(20), fc.constant(20)).map((sizes) => [...sizes]),
});

/** Batches that all fail, many at once over all stores: counts what may run against what retries and limits allow. */
export const runRetryRaces = (
  createStores: (settings: SessionSettings) => readonly SessionStore[],
  numRuns: number,
): Promise<void> =>
  fc.assert(
    fc.asyncProperty(anyRace, (race) => check(createStores(toSettings(race)), race)),
    { numRuns },
  );
