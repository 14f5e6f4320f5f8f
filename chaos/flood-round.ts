import { setTimeout as wait } from 'node:timers/promises';
import type { Flood, FloodTarget } from './flood-attacks.ts';
import { type FloodCounts, startFlood } from './flood-load.ts';
import { type Probe, startProbe, toPercentile } from './flood-probe.ts';

/** What another tenant meets without a flood, for so long. */
export const probeFor = async (port: number, ms: number): Promise<Probe> => {
  const probe = await startProbe(port);
  await wait(ms);
  return await probe.stop();
};

export type Round = {
  readonly counts: FloodCounts;
  readonly probe: Probe;
  /** How the service ended; null while it lives. */
  readonly exit: unknown;
};

/** What came of a flood that goes on for so long, or until the service ends, and what another tenant met meanwhile. */
export const floodFor = async (
  target: FloodTarget,
  floods: readonly Flood[],
  ms: number,
  exited: Promise<unknown>,
): Promise<Round> => {
  const probing = await startProbe(target.port);
  const load = startFlood(target, floods);
  const exit = await Promise.race([wait(ms, null), exited]);
  const [counts, probe] = await Promise.all([load.stop(), probing.stop()]);
  return { counts, probe, exit };
};

const MOST_TIMES = 5;
const SHOWN = 5;

/** The p99 that another tenant may meet under a flood, in milliseconds, by its calls without one in the same run. */
export const toMostP99 = (before: Probe, leastMs: number): number =>
  Math.max(leastMs, MOST_TIMES * toPercentile(before, 0.99));

/** What a flood must not do: end the service, fail a call of another tenant, or make its p99 more than this time. */
export const findBroken = ({ probe, exit }: Round, mostP99: number): readonly string[] => {
  const p99 = toPercentile(probe, 0.99);
  const slow = `the p99 of another tenant is ${p99.toFixed(0)} ms, more than ${mostP99.toFixed(0)}`;
  const kinds = new Set(probe.failures.map((text) => text.replace(/"request_id":"[^"]*",?/, '').slice(0, 500)));
  return [
    ...(exit === null ? [] : [`the service has ended: ${JSON.stringify(exit)}`]),
    ...[...kinds].slice(0, SHOWN),
    ...(p99 > mostP99 ? [slow] : []),
  ];
};
