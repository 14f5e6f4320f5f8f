import { checkAnswer } from '../check-answers.ts';
import { type MeasureLoad, type Run, withoutWarnings } from '../measure-load.ts';
import { CONNECTIONS, WARM_UP_SECONDS } from '../measure-servers.ts';
import type { Server } from '../servers.ts';
import { checkCodes, readServiceCounts } from '../service-counts.ts';
import type { Part } from './part.ts';

/** Runs of isolated calls at full load, with the hosts out of the service's way. */
export type Throughput = {
  /** `recycled`: as by default, a host is replaced after a thousand calls. `kept`: never. */
  readonly hosts: 'kept' | 'recycled';
  readonly calls: number;
  readonly runs: readonly Run[];
};

/** Measures full load on a service that runs. Throws where a call comes to anything but a success. */
export const measureThroughput = async (
  { options, progress }: Part,
  server: Server,
  measure: MeasureLoad,
  { hosts, calls }: Omit<Throughput, 'runs'>,
): Promise<Throughput> => {
  const load = { kind: 'isolated', calls, connections: CONNECTIONS } as const;
  await checkAnswer(server.url, 'isolated', calls);
  progress(`hosts ${hosts}, ${calls} a batch: warming up`);
  await measure(server, { ...load, seconds: WARM_UP_SECONDS });
  const before = await readServiceCounts(server.url, 'echo_isolated');
  const rounds = Math.ceil(options.rounds / 2);
  const runs: Run[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    const run = withoutWarnings(await measure(server, { ...load, seconds: options.seconds }));
    runs.push(run);
    const figures = `${(run.batchesPerSecond * calls).toFixed(0)} calls/s, ${(run.cpuMicrosPerBatch / calls).toFixed(0)} µs each`;
    progress(`hosts ${hosts}, ${calls} a batch, round ${round} of ${rounds}: ${figures}`);
  }
  checkCodes('ok', { before, after: await readServiceCounts(server.url, 'echo_isolated') });
  return { hosts, calls, runs };
};
