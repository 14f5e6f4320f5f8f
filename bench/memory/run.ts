import { parseArgs } from 'node:util';
import { createProcesses } from '../processes.ts';
import { floodSessions } from './flood-sessions.ts';
import { startLimitedService } from './limited-service.ts';
import { createMemoryGroup } from './memory-group.ts';
import { describeSample, judge, toSummary } from './summary.ts';

const USAGE = 'Usage: node bench/memory/run.ts [--seconds 300] [--heap 512] [--cgroup 1024]';

const wholeFrom = (name: string, text: string, most: number): number => {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= most) return value;
  throw new Error(`${name} must be a whole number from 1 to ${most}, got '${text}'.\n${USAGE}`);
};

/** Floods a service of limited memory with new sessions for a bounded time; prints figures, exit code 1 where one is bad. */
const main = async (): Promise<void> => {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '300' },
      heap: { type: 'string' },
      cgroup: { type: 'string' },
    },
  });
  const seconds = wholeFrom('--seconds', values.seconds, 900);
  const heapMb = values.heap === undefined ? null : wholeFrom('--heap', values.heap, 65_536);
  const group = values.cgroup === undefined ? null : createMemoryGroup(wholeFrom('--cgroup', values.cgroup, 65_536));
  const processes = createProcesses();
  try {
    const service = await startLimitedService(processes, { heapMb, group });
    const flood = await floodSessions(service, seconds, (sample) =>
      process.stdout.write(`${describeSample(sample)}\n`),
    );
    process.stdout.write(`${toSummary(flood)}\n`);
    const complaints = judge(flood);
    for (const complaint of complaints) process.stdout.write(`NOT HELD: ${complaint}\n`);
    process.exitCode = complaints.length === 0 ? 0 : 1;
  } finally {
    await processes.endAll();
    group?.remove();
  }
};

await main();
