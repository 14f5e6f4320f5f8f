import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { createKeyedClient, whenConnected } from '@recourse/test-support/keyed-client.ts';
import { type RunningProcess, startProcess } from '@recourse/test-support/start-process.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import fc from 'fast-check';
import { describe, expect, onTestFailed, test } from 'vitest';
import { startStrictBank } from './approval-bank.ts';
import { anyErrand, CONFIG, Errand, type Live, STOPS } from './approval-errand.ts';
import { openStore } from './rules/rules-lab.ts';

// PROPERTY_RUNS=200 for all of them, five minutes; half on each store. SEED=… plays the same ones again.
const APPROVALS = Math.min(200, Number(process.env['PROPERTY_RUNS'] ?? 40));
const AT_ONCE = 10;
const SEED = Number(process.env['SEED'] ?? randomInt(2 ** 31 - 1));
const LONGEST_PAUSE_MS = 40;

const startReplicas = async (store: 'sqlite' | 'redis') => {
  const bank = await startStrictBank();
  const config = makeDirectory({ 'recourse.config.json': JSON.stringify(CONFIG) });
  const CONFIG_FILE = `${config.root}/recourse.config.json`;
  const environment = { TOOLS_DIR: bank.tools, CONFIG_FILE, ...(await openStore(store)) };
  const start = async (): Promise<RunningProcess> => {
    const running = await startProcess({ by: 'node', environment });
    if (store === 'redis') await whenConnected(createKeyedClient(running.url));
    return running;
  };
  return { bank, start };
};

const liveOf = (services: readonly RunningProcess[]): Live => services.map(({ url }) => url);

type Death = { readonly start: () => Promise<RunningProcess>; readonly place: number; readonly waitMs: number };

/** Plays errands at once, over the death of one service, which another one follows. */
const playRound = async (
  round: readonly Errand[],
  services: RunningProcess[],
  { start, place, waitMs }: Death,
): Promise<void> => {
  await Promise.all(round.map((errand) => errand.begin(liveOf(services))));
  for (const errand of round) errand.take(liveOf(services));
  await pause(waitMs);
  services[place]?.send('SIGKILL', 'service');
  await services[place]?.exited;
  services[place] = await start();
  await Promise.all(round.map((errand) => errand.finish(liveOf(services))));
};

describe.each(['sqlite', 'redis'] as const)('%s', (store) => {
  test('what is approved runs once as it was approved, and each call ends, whenever a service gets a SIGKILL', {
    timeout: timeLimit(60_000 + APPROVALS * 3000),
  }, async () => {
    onTestFailed(() => void process.stderr.write(`SEED=${SEED}\n`));
    const began = performance.now();
    const { bank, start } = await startReplicas(store);
    const services = await Promise.all(store === 'redis' ? [start(), start()] : [start()]);
    const pauses = fc.sample(fc.nat(LONGEST_PAUSE_MS), { seed: SEED, numRuns: APPROVALS });
    const plans = fc.sample(anyErrand, { seed: SEED, numRuns: APPROVALS / 2 });
    const errands = plans.map((plan) => new Errand(plan, bank));
    for (let from = 0; from < errands.length; from += AT_ONCE) {
      const [place = 0, waitMs = 0] = pauses.slice(from);
      await playRound(errands.slice(from, from + AT_ONCE), services, { start, place: place % services.length, waitMs });
    }
    for (const errand of errands) await errand.expectKept(liveOf(services));
    expect(new Set(bank.ledger).size).toBe(bank.ledger.length);
    if (process.env['PROPERTY_RUNS'] !== undefined) describeRun(errands, bank.ledger.length, performance.now() - began);
  });
});

const describeRun = (errands: readonly Errand[], paid: number, ms: number): void => {
  const ends = Object.entries(Object.groupBy(errands, ({ end }) => end)).map(([end, of]) => `${end} ${of?.length}`);
  const stops = STOPS.map((stop) => `${stop} ${errands.filter(({ plan }) => plan.stop === stop).length}`);
  process.stderr.write(
    `${errands.length} approvals (SEED=${SEED}), ${paid} in the ledger, ${Math.round(ms / 1000)} s; deaths at: ${stops.join(', ')}; ends: ${ends.join(', ')}\n`,
  );
};
