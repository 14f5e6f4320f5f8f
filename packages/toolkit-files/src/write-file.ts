import { randomUUID } from 'node:crypto';
import type { Stats } from 'node:fs';
import { lstat, mkdir, rename, rm } from 'node:fs/promises';
import { posix } from 'node:path';
import {
  findSameLook,
  type Place,
  quotePath,
  refuseGitPath,
  tellFileErrors,
  toWorkspacePath,
  unlessCode,
  type Workspace,
  withPlace,
} from '@recourse/toolkit-kit/directories';
import { defineTool, RetryableToolError } from 'recourse-server';
import type { InlineTool } from 'recourse-server/extension';
import * as z from 'zod';

// As much as a whole request may hold by default.
const MAX_CONTENT_BYTES = 1_048_576;
// Each missing directory on the way is made; nobody means more than this.
const MAX_DEPTH = 32;

const WriteFileInput = z.object({
  path: z
    .string()
    .min(1)
    .describe('Path of the file, relative to the workspace.')
    .meta({ examples: ['notes.md'] }),
  content: z.string().describe('The whole new content, at most 1 MiB of text.'),
});

const WriteFileOutput = z.object({
  path: z.string(),
  bytes: z.int(),
  created: z.boolean().describe('False if an existing file was replaced.'),
});

/**
 * `write_file`: makes a file or replaces it as a whole; readers see the old content or the new, never a part.
 *
 * Its effects are `idempotent`. `effects` says what a repeat may do, and the same content written twice is the same
 * file; that the first call replaces what was there is what it was called for. As `write`, every full disk would be
 * "it may have happened", which is untrue of a write that happens at once or not at all, and a model would have one
 * retry only. A call that was cut off replaces nothing any more, so it cannot overwrite a later one.
 */
export const createWriteFile = (workspace: Workspace): InlineTool =>
  defineTool({
    name: 'write_file',
    description:
      'Writes a text file of the workspace: creates it and missing directories, or replaces its whole content. To change a part, read the file first and send all of it.',
    effects: 'idempotent',
    input: WriteFileInput,
    output: WriteFileOutput,
    run: ({ path: written, content }, { signal }) => {
      const asked = toWorkspacePath(written);
      refuseGitPath(asked, asked);
      checkContent(content, asked);
      return tellFileErrors({ path: asked, createMissingError: (cause) => toNoDirectory(asked, cause) }, async () => {
        // People and models could not tell a second file that looks the same from the first.
        const path = await findSameLook(workspace, asked, { use: 'write', signal });
        refuseGitPath(path, asked);
        const directory = posix.dirname(path);
        await makeDirectories(workspace, directory, path);
        return await withWritable(workspace, directory, path, (place) => replaceFile(place, { path, content, signal }));
      });
    },
  });

const checkContent = (content: string, path: string): void => {
  const bytes = Buffer.byteLength(content);
  if (bytes > MAX_CONTENT_BYTES)
    throw new RetryableToolError(
      `The content for ${quotePath(path)} has ${bytes} bytes; at most ${MAX_CONTENT_BYTES} can be written. Send less, or several files.`,
    );
  if (!content.isWellFormed())
    throw new RetryableToolError(
      `The content for ${quotePath(path)} is not valid Unicode: it contains half a character (a lone surrogate). Send valid text.`,
    );
};

const toNoDirectory = (path: string, cause: unknown): Error =>
  new RetryableToolError(
    `A part of the path ${quotePath(path)} is a file or a broken symbolic link, not a directory. Choose another path.`,
    { cause },
  );

/** As `withPlace`, for a directory that is written to for `path`: a link on the way may lead into a Git directory. */
const withWritable = <T>(workspace: Workspace, directory: string, path: string, use: (place: Place) => Promise<T>) =>
  withPlace(workspace, directory, (place) => {
    refuseGitPath(place.realPath, path);
    return use(place);
  });

/** Makes what is missing of `directory`, each level inside the one that was just proved to lie in the workspace. */
const makeDirectories = async (workspace: Workspace, directory: string, path: string): Promise<void> => {
  const names = directory === '.' ? [] : directory.split('/');
  if (names.length > MAX_DEPTH)
    throw new RetryableToolError(
      `The path ${quotePath(directory)} has ${names.length} levels; at most ${MAX_DEPTH} are allowed. Send a shorter path.`,
    );
  for (const [depth, name] of names.entries()) {
    const parent = names.slice(0, depth).join('/');
    await withWritable(workspace, parent, path, ({ link }) => unlessCode('EEXIST', mkdir(`${link}/${name}`)));
  }
};

type Replacement = { readonly path: string; readonly content: string; readonly signal: AbortSignal };

const replaceFile = async (directory: Place, { path, content, signal }: Replacement) => {
  const target = `${directory.link}/${posix.basename(path)}`;
  const before = await unlessCode('ENOENT', lstat(target));
  checkReplaceable(before, path);
  // A new file that takes the name over: nothing is followed, neither a symbolic link nor a hard one, and no reader
  // ever finds half of the content. See TEMPORARY_NAME in read-entries.ts.
  const temporary = `.recourse-${randomUUID()}.tmp`;
  try {
    await writeNew(directory, temporary, { content, before });
    signal.throwIfAborted();
    await rename(`${directory.link}/${temporary}`, target);
  } finally {
    await rm(`${directory.link}/${temporary}`, { force: true });
  }
  return { path, bytes: Buffer.byteLength(content), created: before === undefined };
};

type NewFile = { readonly content: string; readonly before: Stats | undefined };

const writeNew = async (directory: Place, name: string, { content, before }: NewFile): Promise<void> => {
  await using file = await directory.createFile(name);
  await file.writeFile(content);
  if (before !== undefined) await file.chmod(before.mode & 0o777);
  // What we call written survives a power cut.
  await file.datasync();
};

const checkReplaceable = (before: Stats | undefined, path: string): void => {
  if (before === undefined) return;
  const refuse = (what: string): never => {
    throw new RetryableToolError(`${quotePath(path)} ${what}`);
  };
  if (before.isDirectory()) refuse('is a directory. Send the path of a file in it.');
  if (before.isSymbolicLink()) refuse('is a symbolic link. Send the path of its target.');
  if (!before.isFile()) refuse('is not a regular file. Choose another path.');
  // Replacing asks for rights on the directory only, so a file that somebody protected would be lost without this.
  if ((before.mode & 0o222) === 0) refuse('is write-protected. Choose another path.');
};
