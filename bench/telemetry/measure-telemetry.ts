import { checkAnswer } from '../check-answers.ts';
import type { Part } from '../isolation/part.ts';
import { type Run, startLoad, withoutWarnings } from '../measure-load.ts';
import { CONNECTIONS, WARM_UP_SECONDS } from '../measure-servers.ts';
import { BATCH_SIZES, type BatchSize } from '../targets.ts';
import { type ContenderName, startContenders } from './contenders.ts';

/** What came of one contender with one batch size, in the order of the rounds. */
export type TelemetrySeries = {
  readonly name: ContenderName;
  readonly calls: BatchSize;
  readonly runs: readonly Run[];
};

/** Measures what metrics, log and traces cost: all contenders in turn, round by round, for each batch size. */
export const measureTelemetry = async ({
  options,
  surroundings,
  progress,
}: Part): Promise<readonly TelemetrySeries[]> => {
  const measure = startLoad(surroundings);
  const contenders = await startContenders(surroundings);
  const all: TelemetrySeries[] = [];
  for (const calls of BATCH_SIZES) {
    const load = { kind: 'succeeding', calls, connections: CONNECTIONS } as const;
    const series = contenders.map(({ name, server }) => ({ name, server, calls, runs: [] as Run[] }));
    for (const { name, server } of series) {
      progress(`${name}, ${calls} a batch: warming up`);
      await checkAnswer(server.url, 'succeeding', calls);
      await measure(server, { ...load, seconds: WARM_UP_SECONDS });
    }
    for (let round = 1; round <= options.rounds; round += 1) {
      for (const { name, server, runs } of series) {
        const run = withoutWarnings(await measure(server, { ...load, seconds: options.seconds }));
        runs.push(run);
        const cpu = run.cpuMicrosPerBatch.toFixed(0);
        progress(
          `${name}, ${calls} a batch, round ${round} of ${options.rounds}: ${run.batchesPerSecond.toFixed(0)} batches/s, ${cpu} µs each`,
        );
      }
    }
    all.push(...series.map(({ name, runs }) => ({ name, calls, runs })));
  }
  for (const { server } of contenders) await server.process.end();
  return all;
};
