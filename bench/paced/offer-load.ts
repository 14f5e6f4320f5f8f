import type { AskProcess } from '../ask-process.ts';
import { readCpuSeconds } from '../process-usage.ts';
import type { Server } from '../servers.ts';
import { type PacedPlan, PacedResult, showOthers, toOthers } from './paced-plan.ts';

/** One stretch at a given rate. */
export type Stretch = {
  readonly ratePerSecond: number;
  readonly seconds: number;
  readonly result: PacedResult;
  /** Share of the time in which the service had its core. */
  readonly busy: number;
};

/** Offers a load to a server for a while. */
export const offerLoad = async (ask: AskProcess, server: Server, plan: PacedPlan): Promise<Stretch> => {
  const { ratePerSecond, seconds } = plan;
  const before = readCpuSeconds(server.process.pid);
  const result = PacedResult.parse(await ask([server], plan, seconds + plan.lastMs / 1000));
  return { ratePerSecond, seconds, result, busy: (readCpuSeconds(server.process.pid) - before) / seconds };
};

/** Share of its rate that the generator sent. */
export const toShareSent = ({ result, ratePerSecond, seconds }: Stretch): number =>
  result.sent / seconds / ratePerSecond;

export const showStretch = ({ result, seconds, busy }: Stretch): string =>
  [
    `${(result.sent / seconds).toFixed(0)}/s sent (late p99 ${result.latenessP99.toFixed(1)} ms, ${result.unsent} never)`,
    `${(result.answeredInTime / seconds).toFixed(0)}/s answered (p50 ${result.p50.toFixed(1)}, p99 ${result.p99.toFixed(1)} ms)`,
    `others: ${showOthers(toOthers(result, ['right']))}`,
    `service busy ${(busy * 100).toFixed(0)} %`,
  ].join('; ');
