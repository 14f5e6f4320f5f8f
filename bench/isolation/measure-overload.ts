import { setTimeout as pause } from 'node:timers/promises';
import { type AskProcess, startAsking } from '../ask-process.ts';
import { SLEEP_MS } from '../bodies.ts';
import { checkAnswer } from '../check-answers.ts';
import { startLoad } from '../measure-load.ts';
import { WARM_UP_SECONDS } from '../measure-servers.ts';
import { readCpuSeconds, readResidentMb } from '../process-usage.ts';
import type { Server } from '../servers.ts';
import { type PacedPlan, PacedResult } from './paced-plan.ts';
import type { Part } from './part.ts';
import { moveHosts, startToolService } from './tool-service.ts';

/** One stretch at a given rate. */
export type Stretch = {
  readonly ratePerSecond: number;
  readonly seconds: number;
  readonly result: PacedResult;
  /** Share of the time in which the service had its core. */
  readonly busy: number;
};

export type Overload = {
  /** Most successful calls in a second, found with a closed loop: what the hosts can do. */
  readonly peakPerSecond: number;
  readonly deadlineMs: number;
  readonly stretches: readonly Stretch[];
  /** Successful calls in a second when it is over. */
  readonly afterPerSecond: number;
  /** Memory of the service, in MB. */
  readonly memory: { readonly beforeMb: number; readonly highestMb: number; readonly afterMb: number };
};

export const HOSTS = 16;
const DEADLINE_MS = 500;
const TIMES_OVER = [1, 10] as const;
// Twice the hosts: none is ever without work, and nothing waits for long.
const PEAK_CONNECTIONS = HOSTS * 2;
const PEAK_RUNS = 3;
/** Of the tenfold stretch: twenty seconds where runs have three. */
const LONG = 20 / 3;
const SAMPLE_MS = 100;
const QUIET_MS = 2000;

/** Finds the peak, offers it and ten times as much on a clock of its own, and looks what became of the calls and the memory. */
export const measureOverload = async (part: Part): Promise<Overload> => {
  const { options, surroundings, progress } = part;
  const measure = startLoad(surroundings);
  const ask = startAsking('isolation/send-paced.ts', surroundings);
  const service = await startToolService(surroundings, { TOOL_HOSTS_MAX: String(HOSTS) });
  const mover = await moveHosts(surroundings, service);
  await checkAnswer(service.url, 'sleeping', 1);
  const load = { kind: 'sleeping', calls: 1, connections: PEAK_CONNECTIONS } as const;
  progress(`overload: warming ${HOSTS} hosts up`);
  await measure(service, { ...load, seconds: WARM_UP_SECONDS });
  const peaks: number[] = [];
  for (let run = 0; run < PEAK_RUNS; run += 1)
    peaks.push((await measure(service, { ...load, seconds: options.seconds })).batchesPerSecond);
  const peakPerSecond = Math.max(...peaks);
  progress(
    `overload: peak ${peakPerSecond.toFixed(0)} calls/s of ${(HOSTS * 1000) / SLEEP_MS} that ${HOSTS} hosts could do`,
  );

  const beforeMb = readResidentMb(service.process.pid);
  const { value: stretches, highestMb } = await watchMemory(service, () => offerAll(part, service, ask, peakPerSecond));
  await pause(QUIET_MS);
  const afterMb = readResidentMb(service.process.pid);
  const after = await measure(service, { ...load, seconds: options.seconds });
  mover.stop();
  await service.process.end();
  const memory = { beforeMb, highestMb, afterMb };
  return { peakPerSecond, deadlineMs: DEADLINE_MS, stretches, afterPerSecond: after.batchesPerSecond, memory };
};

const offerAll = async (
  { options, progress }: Part,
  service: Server,
  ask: AskProcess,
  peakPerSecond: number,
): Promise<readonly Stretch[]> => {
  const stretches: Stretch[] = [];
  for (const times of TIMES_OVER) {
    const seconds = times === 1 ? options.seconds : options.seconds * LONG;
    const stretch = await offer(service, ask, peakPerSecond * times, seconds);
    stretches.push(stretch);
    progress(`overload: ${times} times the peak: ${showStretch(stretch)}`);
  }
  return stretches;
};

const offer = async (server: Server, ask: AskProcess, ratePerSecond: number, seconds: number): Promise<Stretch> => {
  const plan: PacedPlan = { url: server.url, ratePerSecond, seconds, deadlineMs: DEADLINE_MS };
  const before = readCpuSeconds(server.process.pid);
  const result = PacedResult.parse(await ask(server, plan, seconds));
  return { ratePerSecond, seconds, result, busy: (readCpuSeconds(server.process.pid) - before) / seconds };
};

/** Does the work, and gives the highest memory meanwhile beside what it gives. */
const watchMemory = async <Value>(
  { process }: Server,
  work: () => Promise<Value>,
): Promise<{ readonly value: Value; readonly highestMb: number }> => {
  let highestMb = readResidentMb(process.pid);
  const timer = setInterval(() => {
    // Where it has ended, whoever waits for an answer hears of that.
    if (process.child.exitCode === null && process.child.signalCode === null)
      highestMb = Math.max(highestMb, readResidentMb(process.pid));
  }, SAMPLE_MS);
  try {
    const value = await work();
    return { value, highestMb };
  } finally {
    clearInterval(timer);
  }
};

const showStretch = ({ result, seconds, busy }: Stretch): string =>
  [
    `${(result.sent / seconds).toFixed(0)}/s sent (late p99 ${result.latenessP99.toFixed(1)} ms, ${result.unsent} never)`,
    `${(result.successesInTime / seconds).toFixed(0)}/s succeeded (p99 ${result.successP99.toFixed(0)} ms)`,
    `${result.overloaded} overloaded, ${result.refused} refused, others ${JSON.stringify(result.others)}`,
    `${result.connections} connections, service busy ${(busy * 100).toFixed(0)} %`,
  ].join('; ');
