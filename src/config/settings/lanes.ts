import { findNearestNames } from '../../contract/nearest-names.ts';
import { matchesPattern, specificityOf } from '../../tools/tool-override.ts';

/** A line of queued calls that need the same from their worker: a GPU, a network, a licence. */
export type Lane = {
  readonly lane: string;
  /** Names of tools, or patterns with `*`, whose calls wait here; none for the lane of all others. */
  readonly tools: readonly string[];
  /** Calls that one worker runs at once; null: WORKER_CONCURRENCY. */
  readonly concurrency: number | null;
  /** Queues in Redis; the nodes of a cluster share those of a lane. */
  readonly shards: number;
};

/** The lane of all tools that no other lane names; there without a configuration file, too. */
export const DEFAULT_LANE: Lane = { lane: 'default', tools: [], concurrency: null, shards: 1 };

/** How a lane may be called: it is a part of keys in Redis and a label of metrics. */
export const LANE_NAME = /^[a-z][a-z0-9_-]{0,31}$/;

/** What the configuration file says of one lane. */
type LaneSection = {
  readonly tools?: readonly string[] | undefined;
  readonly concurrency?: number | undefined;
  readonly shards?: number | undefined;
};

const toLane = (lane: string, { tools = [], concurrency, shards = 1 }: LaneSection = {}): Lane => ({
  lane,
  tools,
  concurrency: concurrency ?? null,
  shards,
});

/** All lanes, `default` first, from what the configuration file says of each. */
export const toLanes = (sections: Readonly<Record<string, LaneSection>>): readonly Lane[] => [
  toLane(DEFAULT_LANE.lane, sections[DEFAULT_LANE.lane]),
  ...Object.entries(sections).flatMap(([lane, section]) => (lane === DEFAULT_LANE.lane ? [] : toLane(lane, section))),
];

/**
 * The lane in which calls of a tool wait: a name comes before any pattern, a pattern with more characters of its own before
 * one with fewer, and of two alike the first; `default` where none fits.
 */
export const createLaneLookup = (lanes: readonly Lane[]): ((toolName: string) => string) => {
  const ranked = lanes
    .flatMap(({ lane, tools }) => tools.map((pattern) => ({ lane, pattern })))
    .toSorted((one, other) => specificityOf(other.pattern) - specificityOf(one.pattern));
  return (toolName) => ranked.find(({ pattern }) => matchesPattern(toolName, pattern))?.lane ?? DEFAULT_LANE.lane;
};

type WorkerLanes = { readonly WORKER_LANES: readonly string[]; readonly WORKER_CONCURRENCY: number };

/** The lanes that this process serves, and how many calls of each run at once. */
export const toServedLanes = (
  { WORKER_LANES, WORKER_CONCURRENCY }: WorkerLanes,
  lanes: readonly Lane[],
): readonly { readonly lane: string; readonly concurrency: number }[] =>
  lanes
    .filter(({ lane }) => WORKER_LANES.length === 0 || WORKER_LANES.includes(lane))
    .map(({ lane, concurrency }) => ({ lane, concurrency: concurrency ?? WORKER_CONCURRENCY }));

/** One sentence for each lane that the settings name and nothing defines. */
export const findUnknownLanes = (
  { WORKER_LANES }: Pick<WorkerLanes, 'WORKER_LANES'>,
  lanes: readonly Lane[],
): readonly string[] => {
  const known = lanes.map(({ lane }) => lane);
  return WORKER_LANES.filter((lane) => !known.includes(lane)).map((lane) => {
    const [nearest] = findNearestNames(lane, known, 1);
    const hint = nearest === undefined ? `lanes are ${known.join(', ')}` : `did you mean '${nearest}'?`;
    return `WORKER_LANES names the lane '${lane}', which the configuration file does not define: ${hint}`;
  });
};
