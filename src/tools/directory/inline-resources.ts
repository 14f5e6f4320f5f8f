import type { FileStates } from './file-versions.ts';
import type { DirectoryLog } from './log-changes.ts';

/** Tears down what tools hold that run inside the service, of the versions that are in `before` and not in `now`. Never rejects. */
export const closeInlineTools = async (before: FileStates, now: FileStates, log: DirectoryLog): Promise<void> => {
  const kept = new Set([...now.values()].map(({ good }) => good));
  const gone = [...before.values()].flatMap(({ good }) => (good === null || kept.has(good) ? [] : [good]));
  const tools = gone.flatMap(({ inline }) => [...inline.values()]);
  const closings = await Promise.allSettled(tools.map((tool) => tool.close?.()));
  for (const [index, closing] of closings.entries())
    if (closing.status === 'rejected')
      log.warn({ tool: tools[index]?.name, err: closing.reason }, 'the teardown of a tool failed');
};
