import { countDescriptors, readResidentMb } from './look-at-processes.ts';
import type { Replica } from './replica.ts';

/** Memory of one life of a replica, second by second. */
type Window = { readonly pid: number; readonly points: { readonly minutes: number; readonly mb: number }[] };

export type MemoryTrend = {
  readonly replica: string;
  /** Over the second half of the last life; null where that is too short to tell. */
  readonly mbPerMinute: number | null;
  readonly seconds: number;
  readonly lastMb: number;
  readonly highestMb: number;
};

export type Sampling = {
  readonly stop: () => void;
  readonly memory: () => readonly MemoryTrend[];
  /** Most file descriptors seen at once, over all replicas. */
  readonly mostDescriptors: () => number;
};

const EVERY_MS = 1000;
const FLOOR_POINTS = 10;
// A short window has fewer points, and still four low ones.
const LEAST_FLOORS = 4;
const LEAST_POINTS = 8;

/** Looks at every replica once a second. A restart begins a new window. */
export const startSampling = (replicas: readonly Replica[]): Sampling => {
  const windows = new Map<string, Window>();
  let highest = 0;
  const look = (name: string, pid: number | null): void => {
    const mb = pid === null ? null : readResidentMb(pid);
    if (pid === null || mb === null) return;
    highest = Math.max(highest, countDescriptors(pid) ?? 0);
    const found = windows.get(name);
    const window = found?.pid === pid ? found : { pid, points: [] };
    windows.set(name, window);
    window.points.push({ minutes: performance.now() / 60_000, mb });
  };
  const timer = setInterval(() => {
    for (const replica of replicas) look(replica.name, replica.pid());
  }, EVERY_MS);
  return {
    stop: () => clearInterval(timer),
    mostDescriptors: () => highest,
    memory: () => [...windows].map(([replica, { points }]) => toTrend(replica, points)),
  };
};

const toTrend = (replica: string, points: Window['points']): MemoryTrend => {
  const half = points.slice(Math.floor(points.length / 2));
  return {
    replica,
    mbPerMinute: half.length < LEAST_POINTS ? null : toSlope(toFloor(half)),
    seconds: half.length * (EVERY_MS / 1000),
    lastMb: points.at(-1)?.mb ?? 0,
    highestMb: Math.max(0, ...points.map(({ mb }) => mb)),
  };
};

/**
 * The lowest point of every ten, in a short window of fewer. Between collections of garbage memory rises and falls by tens of megabytes; a leak is
 * what raises the lowest points.
 */
const toFloor = (points: Window['points']): Window['points'] => {
  const lowest = (some: Window['points']): Window['points'] =>
    some.length === 0 ? [] : [some.reduce((low, point) => (point.mb < low.mb ? point : low))];
  const floor: Window['points'] = [];
  const width = Math.min(FLOOR_POINTS, Math.floor(points.length / LEAST_FLOORS));
  for (let at = 0; at < points.length; at += width) floor.push(...lowest(points.slice(at, at + width)));
  return floor;
};

/** The slope of the straight line with the least squares, in MB a minute. */
const toSlope = (points: Window['points']): number => {
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const middle = { minutes: mean(points.map(({ minutes }) => minutes)), mb: mean(points.map(({ mb }) => mb)) };
  let [shared, spread] = [0, 0];
  for (const { minutes, mb } of points) {
    shared += (minutes - middle.minutes) * (mb - middle.mb);
    spread += (minutes - middle.minutes) ** 2;
  }
  return shared / spread;
};
