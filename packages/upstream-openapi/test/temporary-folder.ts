import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A folder of the test's own; gone with the test. */
export const createTemporaryFolder = async () => {
  const path = await mkdtemp(join(tmpdir(), 'recourse-openapi-'));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return {
    path,
    /** At once, as an editor does it. */
    write: async (name: string, text: string): Promise<void> => {
      await writeFile(join(path, `${name}.new`), text);
      await rename(join(path, `${name}.new`), join(path, name));
    },
    remove: (name: string): Promise<void> => rm(join(path, name)),
  };
};
