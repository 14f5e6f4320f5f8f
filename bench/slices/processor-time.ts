import { readdirSync, readFileSync } from 'node:fs';

/** Processor time that the threads of a process have used, in nanoseconds. Source: Documentation/scheduler/sched-stats.rst. */
export const readCpuNanos = (pid: number): number => {
  const tasks = `/proc/${pid}/task`;
  return readdirSync(tasks).reduce((sum, thread) => sum + readThreadNanos(`${tasks}/${thread}/schedstat`), 0);
};

const readThreadNanos = (file: string): number => {
  try {
    return Number(readFileSync(file, 'latin1').split(' ', 1)[0]);
  } catch (_ended) {
    // A thread may end between the two looks.
    return 0;
  }
};
