import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createWorkspace, type Workspace } from '@recourse/toolkit-kit/workspace/workspace';
import { fileAccess } from './file-access.ts';

/** A workspace `ws` on the real disk, with `ws-evil/secret.txt` ("the secret") beside it. Disposing removes both. */
export type TemporaryWorkspace = AsyncDisposable & {
  readonly workspace: Workspace;
  readonly root: string;
  /** The directory beside the workspace that no tool may touch. */
  readonly outside: string;
};

/** `files` maps paths below the workspace to contents; directories on the way are made. */
export const createTemporaryWorkspace = async (
  files: Readonly<Record<string, string | Uint8Array>> = {},
): Promise<TemporaryWorkspace> => {
  const base = await mkdtemp(join(tmpdir(), 'recourse-workspace-'));
  const root = join(base, 'ws');
  const outside = join(base, 'ws-evil');
  await mkdir(root);
  await mkdir(outside);
  await writeFile(join(outside, 'secret.txt'), 'the secret');
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), content);
  }
  return {
    workspace: await createWorkspace({ root, access: fileAccess() }),
    root,
    outside,
    [Symbol.asyncDispose]: () => rm(base, { recursive: true, force: true }),
  };
};
