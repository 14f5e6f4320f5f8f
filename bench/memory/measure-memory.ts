import type { Part } from '../part.ts';
import { floodSessions } from './flood-sessions.ts';
import { startLimitedService } from './limited-service.ts';
import { describeSample, judge, toSummary } from './summary.ts';

const HEAP_MB = 512;
const SECONDS = 180;

/** A service with a small heap under a flood of new sessions. */
export const measureMemory = async ({ surroundings, progress }: Part): Promise<readonly string[]> => {
  const service = await startLimitedService(surroundings.processes, { heapMb: HEAP_MB, group: null });
  const flood = await floodSessions(service, SECONDS, (sample) => progress(describeSample(sample)));
  await service.process.end();
  const complaints = judge(flood).map((complaint) => `**missed**: ${complaint}`);
  return [
    `## Memory: a heap of ${HEAP_MB} MB, ${SECONDS} s of new sessions`,
    `\`\`\`text\n${toSummary(flood)}\n\`\`\``,
    complaints.length === 0 ? 'Every target is met.' : complaints.join('\n'),
  ];
};
