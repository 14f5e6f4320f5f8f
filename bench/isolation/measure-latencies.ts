import type { AskProcess } from '../ask-process.ts';
import { checkAnswer } from '../check-answers.ts';
import { withoutWarnings } from '../measure-load.ts';
import type { Server } from '../servers.ts';
import { warmHostsUp } from './count-hosts.ts';
import type { Part } from './part.ts';
import { Timing, type TimingRequest } from './timing-plan.ts';

/** Where the tool hosts run: on the core of the service, or on that of the load. */
export type Placement = 'with_service' | 'with_load';

/** Rounds on one connection: the same batches of `echo` and of `echo_isolated`, in turn. */
export type Latency = {
  readonly placement: Placement;
  readonly calls: number;
  readonly rounds: readonly TimingPair[];
};

export type TimingPair = { readonly inProcess: Timing; readonly isolated: Timing };

const BATCHES = [1, 64] as const;
// With one connection at a time a run has thousands of samples sooner than with fifty.
const SHARE_OF_SECONDS = 1 / 3;

/** Measures batches of both kinds, round by round, on a service that runs. Throws where a call fails. */
export const measureLatencies = async (
  { options, progress }: Part,
  server: Server,
  ask: AskProcess,
  placement: Placement,
): Promise<readonly Latency[]> => {
  const seconds = options.seconds * SHARE_OF_SECONDS;
  const latencies: Latency[] = [];
  for (const calls of BATCHES) {
    await checkAnswer(server.url, 'isolated', calls);
    const measurePair = async (): Promise<TimingPair> => ({
      inProcess: await measureOne(ask, server, { kind: 'succeeding', calls, seconds }),
      isolated: await measureOne(ask, server, { kind: 'isolated', calls, seconds }),
    });
    await warmHostsUp(server, measurePair);
    const rounds: TimingPair[] = [];
    for (let round = 1; round <= options.rounds; round += 1) {
      const pair = await measurePair();
      rounds.push(pair);
      const times = `${pair.inProcess.p50.toFixed(3)} ms in-process, ${pair.isolated.p50.toFixed(3)} ms isolated`;
      progress(`hosts ${placement}, ${calls} a batch, round ${round} of ${options.rounds}: ${times}`);
    }
    latencies.push({ placement, calls, rounds });
  }
  return latencies;
};

const measureOne = async (ask: AskProcess, server: Server, plan: Omit<TimingRequest, 'url'>): Promise<Timing> =>
  withoutWarnings(Timing.parse(await ask(server, { ...plan, url: server.url } satisfies TimingRequest, plan.seconds)));
