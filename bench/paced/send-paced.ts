import { setTimeout as pause } from 'node:timers/promises';
import type * as z from 'zod';
import { createJudge, type Verdict } from '../slices/judge-answer.ts';
import { createRequests } from '../slices/lane-requests.ts';
import { percentileOf } from '../summarise.ts';
import { type LinePool, openLinePool } from './line-pool.ts';
import { PacedPlan, type PacedResult } from './paced-plan.ts';
import { createPacedTally } from './paced-tally.ts';
import { createTurns } from './take-turns.ts';

const TICK_MS = 1;

type Plan = Readonly<z.infer<typeof PacedPlan>>;
type Judge = (answer: string) => Verdict;
/** When it was to leave, whenever it did: whoever waits for an answer waits from then on. */
type Batch = { readonly dueAt: number; readonly judge: Judge };
type Sent = Pick<PacedResult, 'sent' | 'unsent' | 'latenessP50' | 'latenessP99'>;

/** Sends on its own clock, whatever the answers do, and says how well it kept it. */
const sendPaced = async (plan: Plan): Promise<PacedResult> => {
  const tally = createPacedTally();
  let isInTime = true;
  const pool = await openLinePool<Batch>({
    url: plan.url,
    lines: plan.connections,
    onAnswer: (answer, { dueAt, judge }) => tally.add(answer, judge(answer.text), performance.now() - dueAt, isInTime),
    onLost: tally.addOther,
  });
  const sent = await sendAll(pool, plan);
  isInTime = false;
  const until = performance.now() + plan.lastMs;
  while (performance.now() < until && pool.isWaiting()) await pause(20);
  const left = pool.size();
  for (let unanswered = pool.close(); unanswered > 0; unanswered -= 1) tally.addOther('no answer');
  return { ...sent, ...tally.toCounts(), connections: left };
};

const sendAll = async (pool: LinePool<Batch>, { loads, ratePerSecond, seconds }: Plan): Promise<Sent> => {
  const nextLoad = createTurns(
    // Numbered from the same number in each plan: sessions go on where the plan before left them.
    loads.map(({ lane, weight }, place) => ({
      item: { nextRequest: createRequests(lane, place), judge: createJudge(lane) },
      weight,
    })),
  );
  const lateness: number[] = [];
  const startedAt = performance.now();
  while (performance.now() - startedAt < seconds * 1000) {
    const due = Math.floor(((performance.now() - startedAt) * ratePerSecond) / 1000);
    while (lateness.length < due && pool.hasFree()) {
      const { nextRequest, judge } = nextLoad();
      const dueAt = startedAt + (lateness.length * 1000) / ratePerSecond;
      pool.send(nextRequest(), { dueAt, judge });
      lateness.push(performance.now() - dueAt);
    }
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

process.on('message', (message) => {
  void sendPaced(PacedPlan.parse(message)).then((result) => process.send?.(result));
});
// Ends with the bench, however that ends.
process.once('disconnect', () => process.exit(0));
