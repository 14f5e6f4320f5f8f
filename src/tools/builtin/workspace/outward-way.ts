import { RetryableToolError } from '../../tool-errors.ts';
import { quotePath } from './workspace-path.ts';

/** What to throw where `path` is a symbolic link that leads out of the workspace. */
export const toOutward = (path: string): RetryableToolError =>
  new RetryableToolError(
    `${quotePath(path)} is a symbolic link that leads out of the workspace. Choose a path inside the workspace.`,
  );

/**
 * For a path under which nothing could be opened: runs `enter` for each directory on the way, which throws where a link
 * leads out. Then that is the answer: "not found" and "no permission" from beyond it would let a model feel its way
 * around out there.
 */
export const refuseOutwardWay = async (path: string, enter: (parent: string) => Promise<void>): Promise<void> => {
  const way = path.split('/').slice(0, -1);
  for (const depth of way.keys()) await enter(way.slice(0, depth + 1).join('/'));
};
