import { setTimeout as pause } from 'node:timers/promises';
import { toSleepingBody } from '../bodies.ts';
import { toPost } from './http-connection.ts';
import { type LinePool, openLinePool } from './line-pool.ts';
import { PacedPlan, type PacedResult } from './paced-plan.ts';
import { createPacedTally } from './paced-tally.ts';
import { percentileOf } from './percentile.ts';

const TICK_MS = 1;
// What was sent last has its whole deadline and then some.
const LAST_ANSWERS_MS = 3000;

type Pace = Pick<PacedPlan, 'ratePerSecond' | 'seconds'>;
type Sent = Pick<PacedResult, 'sent' | 'unsent' | 'latenessP50' | 'latenessP99'>;

/** Sends on its own clock, whatever the answers do, and says how well it kept it. */
const sendPaced = async ({ url, kind, deadlineMs, connections, ...pace }: PacedPlan): Promise<PacedResult> => {
  const request = toPost(url, toSleepingBody(kind, deadlineMs));
  const tally = createPacedTally();
  let isInTime = true;
  const pool = await openLinePool({
    url,
    lines: connections,
    onAnswer: (answer, tookMs) => tally.add(answer, tookMs, isInTime),
    onLost: tally.addOther,
  });
  const sent = await sendAll(pool, request, pace);
  isInTime = false;
  await waitForLast(pool, deadlineMs);
  const left = pool.size();
  for (let unanswered = pool.close(); unanswered > 0; unanswered -= 1) tally.addOther('no answer');
  return { ...sent, ...tally.toCounts(), connections: left };
};

const sendAll = async (pool: LinePool, request: string, pace: Pace): Promise<Sent> => {
  const { ratePerSecond, seconds } = pace;
  const startedAt = performance.now();
  const dueBy = (moment: number): number => Math.floor(((moment - startedAt) * ratePerSecond) / 1000);
  const lateness: number[] = [];
  while (performance.now() - startedAt < seconds * 1000) {
    const due = dueBy(performance.now());
    while (lateness.length < due && pool.send(request))
      lateness.push(performance.now() - startedAt - (lateness.length * 1000) / ratePerSecond);
    await pause(TICK_MS);
  }
  const sorted = Float64Array.from(lateness).sort();
  return {
    sent: sorted.length,
    unsent: Math.max(0, Math.floor(ratePerSecond * seconds) - sorted.length),
    latenessP50: percentileOf(sorted, 0.5),
    latenessP99: percentileOf(sorted, 0.99),
  };
};

const waitForLast = async (pool: LinePool, deadlineMs: number): Promise<void> => {
  const until = performance.now() + deadlineMs + LAST_ANSWERS_MS;
  while (performance.now() < until && pool.isWaiting()) await pause(20);
};

process.on('message', (message) => {
  void sendPaced(PacedPlan.parse(message)).then((result) => process.send?.(result));
});
// Ends with the bench, however that ends.
process.once('disconnect', () => process.exit(0));
