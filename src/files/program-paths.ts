import { access, constants } from 'node:fs/promises';
import { resolve } from 'node:path';

/** Where a program is looked for, to the first place that has it. */
export const programPaths = async (program: string, searchPath: string, cwd: string): Promise<readonly string[]> => {
  if (program.includes('/')) return [resolve(cwd, program)];
  const paths: string[] = [];
  for (const folder of searchPath.split(':')) {
    const path = resolve(cwd, folder, program);
    paths.push(path);
    if (await canRun(path)) break;
  }
  return paths;
};

const canRun = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
