import { totalmem } from 'node:os';
import type { Config } from './settings/config.ts';

/** What the machine, or the control group that the service runs in, gives it. */
export type MachineFacts = { readonly memoryBytes: number };

export type HostLimits = {
  readonly min: number;
  readonly max: number;
  /** Of one host, in MiB. */
  readonly memoryMb: number;
  /** How `max` came about, for the log. */
  readonly reason: string;
};

const MIB = 1_048_576;
// The service's own: 110 to 160 MiB idle, what it remembers (at most 35 % of its heap), what is in flight (at most 20 %).
const SERVICE_SHARE = 0.5;
// A host takes 60 MiB, of which 40 are shared with the others; the rest is for what tool files load and calls hold. One that
// takes more may: TOOL_HOST_MEMORY_MB ends it, not this reckoning. Cores do not count: a host that waits uses none.
const HOST_MIB = 64;
const LEAST = 1;
// A host has 20 threads, and the container as it is shipped has 1024.
const MOST = 32;
const WARM_HOSTS = 2;
// Two hosts that fill what they may still leave room for the service and the others.
const LARGEST_SHARE = 0.25;
const USUAL_MIB = 512;
const LEAST_MIB = 160;

/** How many tool hosts there may be, how many are kept warm, and what one may hold: what was set, else what the machine bears. */
export const toHostLimits = (
  config: Pick<Config, 'TOOL_HOSTS_MIN' | 'TOOL_HOSTS_MAX' | 'TOOL_HOST_MEMORY_MB'>,
  { memoryBytes }: MachineFacts,
): HostLimits => {
  const { TOOL_HOSTS_MIN, TOOL_HOSTS_MAX, TOOL_HOST_MEMORY_MB } = config;
  const memoryMib = Math.floor(memoryBytes / MIB);
  const byMemory = Math.max(LEAST, Math.floor((memoryMib * (1 - SERVICE_SHARE)) / HOST_MIB));
  const borne = Math.min(byMemory, MOST);
  const max = TOOL_HOSTS_MAX ?? Math.max(borne, TOOL_HOSTS_MIN ?? LEAST);
  const reckoned = `half of ${memoryMib} MiB at ${HOST_MIB} MiB per host allows ${byMemory}, at most ${MOST}`;
  return {
    min: TOOL_HOSTS_MIN ?? Math.min(WARM_HOSTS, max),
    max,
    memoryMb: TOOL_HOST_MEMORY_MB ?? Math.max(LEAST_MIB, Math.min(USUAL_MIB, Math.floor(memoryMib * LARGEST_SHARE))),
    reason: TOOL_HOSTS_MAX === undefined ? reckoned : `TOOL_HOSTS_MAX; default: ${reckoned}`,
  };
};

/** The limit of the control group (version 2 or 1) where there is one, else the memory of the machine. */
export const readMachine = (): MachineFacts => {
  const constrained = process.constrainedMemory();
  return { memoryBytes: constrained > 0 ? Math.min(constrained, totalmem()) : totalmem() };
};
