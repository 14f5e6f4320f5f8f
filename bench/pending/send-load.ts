import { setTimeout as pause } from 'node:timers/promises';
import * as z from 'zod';
import { openConnection } from '../http-connection.ts';
import { readCpuNanos } from '../slices/processor-time.ts';
import { percentileOf } from '../summarise.ts';
import { LoadPlan, type LoadResult, type Spread } from './load-plan.ts';

type Tally = {
  isCounting: boolean;
  away: number;
  readonly took: number[];
  readonly untilBegun: number[];
  readonly sinceEnded: number[];
};

const Moments = z.object({ begun: z.number(), ended: z.number() });
const Answer = z.object({ results: z.tuple([z.object({ success: z.literal(true), value: z.unknown() })]) });

// A machine that is busy may keep Redis from an answer within 50 ms: such a call is refused, and has not run.
const AWAY = '"code":"store_unavailable"';

const now = (): number => performance.timeOrigin + performance.now();

const sendLoad = async (plan: z.infer<typeof LoadPlan>): Promise<LoadResult> => {
  const tally: Tally = { isCounting: false, took: [], untilBegun: [], sinceEnded: [], away: 0 };
  const { promise: failure, reject } = Promise.withResolvers<never>();
  const closes = Array.from({ length: plan.connections }, () => openLine(plan, tally, reject));
  try {
    await Promise.race([pause(plan.warmUpMs), failure]);
    const before = plan.pids.map(readCpuNanos);
    const startedAt = performance.now();
    tally.isCounting = true;
    await Promise.race([pause(plan.ms), failure]);
    tally.isCounting = false;
    const after = plan.pids.map(readCpuNanos);
    return {
      answers: tally.took.length,
      away: tally.away,
      ms: performance.now() - startedAt,
      took: toSpread(tally.took),
      untilBegun: tally.untilBegun.length === 0 ? null : toSpread(tally.untilBegun),
      sinceEnded: tally.sinceEnded.length === 0 ? null : toSpread(tally.sinceEnded),
      cpuNanos: after.map((nanos, place) => nanos - (before[place] ?? 0)),
    };
  } finally {
    for (const close of closes) close();
  }
};

const openLine = ({ url, request, pauseMs }: z.infer<typeof LoadPlan>, tally: Tally, fail: (error: Error) => void) => {
  let sentAt = 0;
  let timer: NodeJS.Timeout | undefined;
  const send = (): void => {
    sentAt = now();
    connection.send(request);
  };
  const connection = openConnection(url, {
    onOpen: send,
    onBroken: (reason) => fail(new Error(`${url}: ${reason}`)),
    onAnswer: ({ status, body }) => {
      const at = now();
      const { data } = Answer.safeParse(JSON.parse(body));
      if (body.includes(AWAY)) tally.away += 1;
      else if (status !== 200 || data === undefined) return fail(new Error(`${status}: ${body.slice(0, 600)}`));
      else if (tally.isCounting) count(tally, { sentAt, at, value: data.results[0].value });
      if (pauseMs === 0) send();
      else timer = setTimeout(send, pauseMs);
    },
  });
  return (): void => {
    clearTimeout(timer);
    connection.close();
  };
};

const count = (
  tally: Tally,
  answer: { readonly sentAt: number; readonly at: number; readonly value: unknown },
): void => {
  const { sentAt, at, value } = answer;
  tally.took.push(at - sentAt);
  const { data } = Moments.safeParse(value);
  if (data === undefined) return;
  tally.untilBegun.push(data.begun - sentAt);
  tally.sinceEnded.push(at - data.ended);
};

const toSpread = (values: readonly number[]): Spread => {
  const sorted = Float64Array.from(values).sort();
  return { p50: percentileOf(sorted, 0.5), p99: percentileOf(sorted, 0.99), most: sorted.at(-1) ?? Number.NaN };
};

process.on('message', (message) => {
  void sendLoad(LoadPlan.parse(message)).then((result) => process.send?.(result));
});
// Ends with the bench, however that ends.
process.once('disconnect', () => process.exit(0));
