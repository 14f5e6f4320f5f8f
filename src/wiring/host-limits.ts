import { availableParallelism, totalmem } from 'node:os';
import type { Config } from '../settings/config.ts';

/** What the machine, or the control group that the service runs in, gives it. */
export type MachineFacts = {
  readonly memoryBytes: number;
  /** Processors that it may keep busy, quotas counted. */
  readonly cores: number;
};

export type HostLimits = {
  readonly min: number;
  readonly max: number;
  /** How `max` came about, for the log. */
  readonly reason: string;
};

const MIB = 1_048_576;
// The service's own: 110 to 160 MiB idle, what it remembers (at most 35 % of its heap), answers that are not sent yet.
const SERVICE_SHARE = 0.5;
// A host takes 60 MiB, of which 40 are shared with the others; the rest is for what tool files load and calls hold. One that
// takes more may: TOOL_HOST_MEMORY_MB ends it, not this reckoning.
const HOST_MIB = 96;
// Many calls share a host, and a host uses one core. The second is for files that block or wait for their turn.
const HOSTS_A_CORE = 2;
// Under four, calls that block their hosts leave nothing for the others.
const LEAST_BY_CORES = 4;
const LEAST = 1;
const KEPT_WARM = 2;

/** How many tool hosts there may be, and how many are kept warm: what was set, else what the machine bears. */
export const toHostLimits = (
  { TOOL_HOSTS_MIN, TOOL_HOSTS_MAX }: Pick<Config, 'TOOL_HOSTS_MIN' | 'TOOL_HOSTS_MAX'>,
  { memoryBytes, cores }: MachineFacts,
): HostLimits => {
  const memoryMib = Math.floor(memoryBytes / MIB);
  const byMemory = Math.max(LEAST, Math.floor((memoryMib * (1 - SERVICE_SHARE)) / HOST_MIB));
  const byCores = Math.max(LEAST_BY_CORES, HOSTS_A_CORE * cores);
  const borne = Math.min(byMemory, byCores, MOST);
  const max = TOOL_HOSTS_MAX ?? Math.max(borne, TOOL_HOSTS_MIN ?? LEAST);
  const reckoned = `half of ${memoryMib} MiB at ${HOST_MIB} MiB a host bears ${byMemory}, ${cores} cores bear ${byCores}`;
  return {
    min: TOOL_HOSTS_MIN ?? Math.min(KEPT_WARM, max),
    max,
    reason: TOOL_HOSTS_MAX === undefined ? reckoned : `TOOL_HOSTS_MAX; without it: ${reckoned}`,
  };
};

const MOST = 1024;

/** The limit of the control group (version 2 or 1) where there is one, else the memory of the machine; likewise its processors. */
export const readMachine = (): MachineFacts => {
  const constrained = process.constrainedMemory();
  return {
    memoryBytes: constrained > 0 ? Math.min(constrained, totalmem()) : totalmem(),
    cores: availableParallelism(),
  };
};
