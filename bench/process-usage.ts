import { readFileSync } from 'node:fs';

// Linux counts processor time in hundredths of a second for user space, whatever the kernel's own clock.
const TICKS_PER_SECOND = 100;
const KIB_PER_MB = 1000 / 1.024;

/** Processor time that all threads of a process have used, in seconds. Source: proc_pid_stat(5). */
export const readCpuSeconds = (pid: number): number => {
  // The second field, the name, may hold blanks; it ends at the last parenthesis.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(')').at(-1)?.trim().split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
};

/** Memory of a process that is in RAM, shared libraries included, in MB (10^6 bytes). Source: proc_pid_status(5). */
export const readResidentMb = (pid: number): number => {
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  if (kib === undefined) throw new Error(`/proc/${pid}/status does not tell VmRSS.`);
  return Number(kib) / KIB_PER_MB;
};
