import type { Part } from './isolation/part.ts';
import type { LoadRequest } from './load-plan.ts';
import { type MeasureLoad, type Run, withoutWarnings } from './measure-load.ts';
import { CONNECTIONS, WARM_UP_SECONDS } from './measure-servers.ts';
import type { Server } from './servers.ts';

/** Bytes of the bodies, without headers. */
export type Sizes = { readonly request: number; readonly answer: number };

/** One side of a comparison. */
export type Lane<Name extends string> = {
  readonly name: Name;
  readonly server: Server;
  readonly load: Omit<LoadRequest, 'url' | 'seconds' | 'connections'>;
  /** Sends one batch; throws unless the answer is what it should be. */
  readonly check: () => Promise<Sizes>;
};

/** What came of one lane, in the order of the rounds. */
export type LaneRuns<Name extends string> = {
  readonly name: Name;
  readonly sizes: Sizes;
  readonly runs: readonly Run[];
};

/** Warms every lane up, then measures them in turn, round by round. Answers are checked before and after. */
export const measureRounds = async <Name extends string>(
  lanes: readonly Lane<Name>[],
  { options, progress }: Part,
  measure: MeasureLoad,
): Promise<readonly LaneRuns<Name>[]> => {
  const all: { name: Name; sizes: Sizes; runs: Run[] }[] = [];
  for (const { name, server, load, check } of lanes) {
    all.push({ name, sizes: await check(), runs: [] });
    progress(`${name}, ${load.calls} a batch: warming up`);
    await measure(server, { ...load, connections: CONNECTIONS, seconds: WARM_UP_SECONDS });
  }
  for (let round = 1; round <= options.rounds; round += 1) {
    for (const [place, { name, server, load }] of lanes.entries()) {
      const plan = { ...load, connections: CONNECTIONS, seconds: options.seconds };
      const run = withoutWarnings(await measure(server, plan));
      all[place]?.runs.push(run);
      progress(`${name}, ${load.calls} a batch, round ${round} of ${options.rounds}: ${show(run)}`);
    }
  }
  for (const { check } of lanes) await check();
  return all;
};

const show = ({ batchesPerSecond, cpuMicrosPerBatch, busy }: Run): string =>
  `${batchesPerSecond.toFixed(0)} batches/s, ${cpuMicrosPerBatch.toFixed(0)} µs each, busy ${(busy * 100).toFixed(0)} %`;
