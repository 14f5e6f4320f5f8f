import type { Logger } from 'pino';
import { findProcessTable } from '../isolation/find-process-table.ts';
import type { ProcessTable } from '../isolation/process-table.ts';

/** How the service learns of the processes of tools: `given`, else what this system offers. Logs what is missing then. */
export const chooseProcesses = (log: Logger, given?: ProcessTable): ProcessTable => {
  const processes = given ?? findProcessTable();
  for (const line of MISSING[processes.source]) log.warn(line);
  return processes;
};

const NO_CGROUPS =
  'limits of a control group cannot be read here: tool hosts are reckoned from the memory of the machine';

const MISSING = {
  proc: [],
  ps: [
    'processes of tools are listed by ps once a second: there is no /proc; what a tool moves out of its process group within a second may survive its host',
    NO_CGROUPS,
  ],
  none: [
    'processes of tools cannot be listed: there is no /proc and ps does not work; TOOL_HOST_MEMORY_MB limits the JavaScript heap alone, and what a tool moves out of its process group survives its host',
    NO_CGROUPS,
  ],
} as const satisfies Record<ProcessTable['source'], readonly string[]>;
