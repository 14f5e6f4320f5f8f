import { type Lane, type LaneFigures, measureLanes } from '../measure-lanes.ts';
import type { Part } from '../part.ts';
import { endServers, type Server } from '../servers.ts';
import type { LaneLoad } from '../slices/slice-plan.ts';
import { MAX_GROWTH_TIMES } from '../targets.ts';
import { toVerdict } from '../to-table.ts';

/** One line of the growth table: what one call costs beside few, some and many of something. */
export type GrowthRow = {
  readonly what: string;
  readonly counts: readonly number[];
  /** Processor time of a batch beside each count, in microseconds. */
  readonly micros: readonly number[];
  /** What the verdict is on. */
  readonly times: number;
  readonly target: string;
  readonly verdict: string;
};

/** A service that holds so many of something. */
export type FilledServer = { readonly count: number; readonly server: Server; readonly load?: Partial<LaneLoad> };

/** As many requests for every count, so that the load and the caches of the processor meet the same. */
export const REQUESTS = 10_240;

/** Compares servers that differ in nothing but how much they hold, and ends them. The last count is compared to the first. */
export const measureFilled = async (
  part: Part,
  what: string,
  filled: readonly FilledServer[],
  load: Partial<LaneLoad> = {},
  mayWarn: Lane['mayWarn'] = undefined,
): Promise<GrowthRow> => {
  const figures = await measureLanes(
    part,
    filled.map(({ count, server, load: own }) => ({
      title: `${what}: ${count}`,
      server,
      load: { calls: 1, ...load, ...own },
      ...(mayWarn === undefined ? {} : { mayWarn }),
    })),
  );
  await endServers(filled.map(({ server }) => server));
  return toGrowthRow(what, filled, figures);
};

const toGrowthRow = (what: string, filled: readonly FilledServer[], figures: readonly LaneFigures[]): GrowthRow => {
  const micros = figures.map((one) => one.micros);
  const times = (micros.at(-1) ?? Number.NaN) / (micros[0] ?? Number.NaN);
  return {
    what,
    counts: filled.map(({ count }) => count),
    micros,
    times,
    target: `≤ ${MAX_GROWTH_TIMES.toFixed(2)} ×`,
    verdict: toVerdict(times <= MAX_GROWTH_TIMES),
  };
};
