import type { Part } from './part.ts';
import type { Server } from './servers.ts';
import { type AskedStint, type LaneLoad, type Slice, type SlicePlan, Slices } from './slices/slice-plan.ts';
import { percentileOf, quartileOf, summarise } from './summarise.ts';

/** One side of a comparison: a server, and what it is asked. */
export type Lane = {
  readonly title: string;
  readonly server: Server;
  readonly load: LaneLoad;
  /**
   * `sometimes`: where Redis did not answer in time, and the figures are an estimate where that is often. `always`: the
   * embedded store says of every key that it is not durable. Left out: never.
   */
  readonly mayWarn?: 'sometimes' | 'always';
};

/** What came of one lane. */
export type LaneFigures = {
  readonly title: string;
  readonly calls: number;
  /** Processor time of the server for one batch, in microseconds: the lower quartile of the slices, and their median. */
  readonly micros: number;
  readonly medianMicros: number;
  /** That of all slices together to all batches of them: no slice is left out, however slow. */
  readonly meanMicros: number;
  readonly batchesPerSecond: number;
  /** From a batch to its answer in milliseconds, of all slices, where the lane is timed. */
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  /** Why the figures are only an estimate; null where they are not. */
  readonly doubt: string | null;
};

/** Long enough for hundreds of batches, short enough that whatever slows the machine slows every lane. */
export const SLICE_MS = 140;
/** How much is measured of each lane. */
export type Pace = { readonly rounds: number; readonly warmUpSeconds: number; readonly sliceMs?: number };

const WARM_UP_STINTS = 2;
// The code that the service runs for a call is compiled for the last time after thousands of them.
const WARM_UP_CALLS = 20_000;
const MOST_WARNED = 0.02;
const SECONDS_PER_FILLED_ANSWER = 0.005;

/**
 * Warms the lanes up, then drives them in turn, a slice each, round by round. Throws where an answer is not what its
 * batch gives reason for.
 */
export const measureLanes = async (
  part: Part,
  lanes: readonly Lane[],
  { rounds, warmUpSeconds, sliceMs = SLICE_MS }: Pace = part.options,
): Promise<readonly LaneFigures[]> => {
  const warmUp: AskedStint = { ms: (warmUpSeconds * 1000) / WARM_UP_STINTS, calls: WARM_UP_CALLS / WARM_UP_STINTS };
  const slices = await send(part, lanes, {
    warmUps: warmUpSeconds === 0 ? [] : Array.from({ length: WARM_UP_STINTS }, () => warmUp),
    rounds,
    slice: { ms: sliceMs },
  });
  const figures = lanes.map((lane, place) => toFigures(lane, slices[place] ?? []));
  for (const one of figures) part.progress(show(one));
  return figures;
};

/** The figures of two lanes, which were measured in turn. */
export type PairFigures = { readonly comparedTo: LaneFigures; readonly lane: LaneFigures };

export const measurePair = async (part: Part, comparedTo: Lane, lane: Lane): Promise<PairFigures> => {
  const [first, second] = await measureLanes(part, [comparedTo, lane]);
  if (first === undefined || second === undefined) throw new Error('A lane was not measured.');
  return { comparedTo: first, lane: second };
};

/** Sends so many batches to each server once: what is to be there before anything is measured. Warnings are let pass. */
export const fillServers = async (
  part: Part,
  servers: readonly { readonly server: Server; readonly load: LaneLoad; readonly answers: number }[],
): Promise<void> => {
  for (const { server, load, answers } of servers)
    await send(part, [{ title: 'filling', server, load }], { warmUps: [], rounds: 1, slice: { answers } });
};

const send = async (
  { sendSlices }: Part,
  lanes: readonly Lane[],
  plan: Omit<SlicePlan, 'lanes'>,
): Promise<readonly (readonly Slice[])[]> => {
  const whole: SlicePlan = {
    ...plan,
    lanes: lanes.map(({ server, load }) => ({ ...load, url: server.url, pid: server.process.pid })),
  };
  const stints = [...plan.warmUps, ...Array.from({ length: plan.rounds }, () => plan.slice)];
  const seconds = 2 * lanes.length * stints.reduce((sum, stint) => sum + secondsOf(stint), 0);
  const servers = lanes.map(({ server }) => server);
  return Slices.parse(await sendSlices(servers, whole, seconds));
};

const secondsOf = (stint: AskedStint): number =>
  'ms' in stint ? stint.ms / 1000 : stint.answers * SECONDS_PER_FILLED_ANSWER;

const toFigures = ({ title, load, mayWarn }: Lane, slices: readonly Slice[]): LaneFigures => {
  const warned = toShareWarned(slices);
  if (mayWarn === undefined && warned > 0) refuseWarnings(title, warned, slices);
  const micros = slices.map(({ cpuNanos, answers }) => cpuNanos / answers / 1000);
  const times = slices.flatMap((slice) => slice.times).toSorted((one, other) => one - other);
  return {
    title,
    calls: load.calls,
    micros: quartileOf(micros),
    medianMicros: summarise(micros).median,
    meanMicros: sumOf(slices, ({ cpuNanos }) => cpuNanos) / sumOf(slices, ({ answers }) => answers) / 1000,
    batchesPerSecond: summarise(slices.map(({ answers, ms }) => (answers * 1000) / ms)).median,
    p50Ms: times.length === 0 ? null : percentileOf(times, 0.5),
    p99Ms: times.length === 0 ? null : percentileOf(times, 0.99),
    doubt: mayWarn === 'sometimes' && warned > MOST_WARNED ? `Redis was late for ${toPercent(warned)}` : null,
  };
};

const toPercent = (share: number): string => `${(share * 100).toFixed(0)} %`;

const sumOf = (slices: readonly Slice[], pick: (slice: Slice) => number): number =>
  slices.reduce((sum, slice) => sum + pick(slice), 0);

const toShareWarned = (slices: readonly Slice[]): number =>
  sumOf(slices, ({ warned }) => warned) / sumOf(slices, ({ answers }) => answers);

const refuseWarnings = (title: string, share: number, slices: readonly Slice[]): never => {
  const warning = slices.find((slice) => slice.warned > 0)?.warning;
  throw new Error(`${title}: ${toPercent(share)} of the answers carried a warning, and none should: ${warning}`);
};

const show = ({ title, calls, micros, medianMicros, batchesPerSecond, p50Ms, p99Ms }: LaneFigures): string =>
  `${title}, ${calls} a batch: ${micros.toFixed(1)} µs (median ${medianMicros.toFixed(1)}), ${batchesPerSecond.toFixed(0)} batches/s${p50Ms === null ? '' : `, p50 ${p50Ms.toFixed(3)} ms, p99 ${p99Ms?.toFixed(3)} ms`}`;
