import { constants, type Stats } from 'node:fs';
import { type FileHandle, open, readlink, realpath } from 'node:fs/promises';
import { posix } from 'node:path';
import { RetryableToolError } from 'recourse-server/tools/tool-errors';
import {
  CREATE_NO_LINKS,
  endOf,
  isInside,
  isUnchanged,
  lookAlong,
  proveOpened,
  READ_NO_LINKS,
  wayTo,
} from './by-path.ts';
import { errorCodeOf, unlessCode } from './file-errors.ts';
import { linkOf, O_PATH, type Workspace } from './workspace.ts';
import { quotePath } from './workspace-path.ts';

/** Something that exists in the workspace: looked at, and proved to lie inside. Valid only while it is held. */
export type Place = {
  /** A path that leads here; append `/name` to name an entry of a directory. */
  readonly link: string;
  /** Where it really lies, without links, below the workspace; '' for the workspace itself. */
  readonly realPath: string;
  readonly stats: Stats;
  /** Opens it to read, a regular file, and this very one. */
  readonly openFile: () => Promise<FileHandle>;
  /** Makes a file of this name in it, a directory, and opens it to write. Rejects with EEXIST where the name is taken. */
  readonly createFile: (name: string) => Promise<FileHandle>;
};

/**
 * Finds what lies under `path` (from `toWorkspacePath`), proves that it lies inside, and lends it to `use`. Symbolic
 * links are followed as long as they end inside.
 * Throws RetryableToolError outside, and Node's own error where nothing can be opened (see `tellFileErrors`).
 */
export const withPlace = <T>(workspace: Workspace, path: string, use: (place: Place) => Promise<T>): Promise<T> =>
  (workspace.access === 'descriptors' ? withPlaceByDescriptor : withPlaceByPath)(workspace, path, use);

const createOutwardError = (path: string): RetryableToolError =>
  new RetryableToolError(
    `${quotePath(path)} is a symbolic link to a place outside the workspace. Choose a path inside the workspace.`,
  );

/**
 * What `step` gives, which opens `path` or finds its real path. Where it fails, each directory on the way is looked up, which
 * throws where a link leads out. Then that is the answer: "not found" and "no permission" from beyond it would let a model
 * feel its way around out there.
 */
const unlessOutwards = async <T>(workspace: Workspace, path: string, step: Promise<T>): Promise<T> => {
  try {
    return await step;
  } catch (thrown) {
    const way = path.split('/').slice(0, -1);
    for (const depth of way.keys()) await withPlace(workspace, way.slice(0, depth + 1).join('/'), async () => {});
    throw thrown;
  }
};

/**
 * The place is pinned. Looking first and opening by name afterwards loses against somebody who swaps a link in between;
 * here the kernel opens first, and we ask what it opened. The link of the place leads there and nowhere else.
 */
const withPlaceByDescriptor = async <T>(
  workspace: Workspace,
  path: string,
  use: (place: Place) => Promise<T>,
): Promise<T> => {
  await using handle = await unlessOutwards(workspace, path, open(posix.join(workspace.root, path), O_PATH));
  const link = linkOf(handle);
  const realPath = await readlink(link);
  if (!isInside(workspace.root, realPath)) throw createOutwardError(path);
  return await use({
    link,
    realPath: realPath.slice(workspace.root.length + 1),
    stats: await handle.stat(),
    // Not blocking, in case a file system gives the reopened file a life of its own.
    openFile: () => open(link, constants.O_RDONLY | constants.O_NONBLOCK),
    createFile: (name) => open(`${link}/${name}`, CREATE),
  });
};

const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/**
 * The real path, and every directory on it, are looked at before and after: what a call gives lay inside at both times.
 * A file is read through a descriptor whose device and inode are those that stood there. Where the system has no flag
 * against links on the way (O_NOFOLLOW_ANY of macOS), a local process that swaps a directory for a link and back several
 * times, each at the right moment, can still mislead a call.
 */
const withPlaceByPath = async <T>(
  workspace: Workspace,
  path: string,
  use: (place: Place) => Promise<T>,
): Promise<T> => {
  const realPath = await unlessOutwards(workspace, path, realpath(posix.join(workspace.root, path)));
  if (!isInside(workspace.root, realPath)) throw createOutwardError(path);
  const trail = lookAlong(workspace.root, realPath);
  const stats = endOf(trail);
  if (stats === undefined) throw createChangedError(path);
  // Without a file itself: another call may replace it while this one reads it.
  const way = stats.isDirectory() ? trail : wayTo(trail);
  const prove = async (opening: Promise<FileHandle>, at: string, expected?: Stats): Promise<FileHandle> => {
    const file = await unlessCode('ELOOP', opening);
    if (file === undefined) throw createChangedError(path);
    try {
      proveOpened(file.fd, { at, way, ...(expected === undefined ? {} : { expected }) });
      return file;
    } catch (thrown) {
      await file.close();
      throw errorCodeOf(thrown) === 'ESTALE' ? createChangedError(path) : thrown;
    }
  };
  const result = await use({
    link: realPath,
    realPath: realPath.slice(workspace.root.length + 1),
    stats,
    openFile: () => prove(open(realPath, READ_NO_LINKS), realPath, stats),
    createFile: (name) => prove(open(`${realPath}/${name}`, CREATE_NO_LINKS), `${realPath}/${name}`),
  });
  if (!isUnchanged(way)) throw createChangedError(path);
  return result;
};

const createChangedError = (path: string): RetryableToolError =>
  new RetryableToolError(`${quotePath(path)} was moved or replaced during the call. Call again.`);

type Span = { readonly offset: number; readonly length: number };

/**
 * At most `length` bytes of a regular file from `offset` on; fewer at its end. `path` is for messages only.
 * Throws RetryableToolError for everything that is no regular file of the workspace alone.
 */
export const readBytes = async (place: Place, path: string, { offset, length }: Span): Promise<Buffer> => {
  checkReadable(place.stats, path);
  await using file = await place.openFile();
  const buffer = Buffer.alloc(Math.min(length, Math.max(0, place.stats.size - offset)));
  let filled = 0;
  while (filled < buffer.length) {
    const { bytesRead } = await file.read(buffer, filled, buffer.length - filled, offset + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
};

// A character of UTF-8 has at most three bytes beyond its first.
const MOST_FURTHER_BYTES = 3;

/**
 * A part of a file of text, at most `limit` bytes and some: it begins and ends between characters of UTF-8, so that parts
 * put together are the file. `next` is where the next one begins.
 */
export const readTextPart = async (place: Place, path: string, offset: number, limit: number) => {
  const bytes = await readBytes(place, path, { offset, length: limit + MOST_FURTHER_BYTES });
  const end = findCharacterStart(bytes, Math.min(limit, bytes.length));
  const start = offset === 0 ? 0 : findCharacterStart(bytes, 0);
  return { bytes: bytes.subarray(start, end), isEmpty: bytes.length === 0, next: offset + end };
};

const findCharacterStart = (bytes: Uint8Array, from: number): number => {
  let at = from;
  while (at < from + MOST_FURTHER_BYTES && ((bytes[at] ?? 0) & 0xc0) === 0x80) at += 1;
  return at;
};

/** Throws RetryableToolError for everything that is no regular file of the workspace alone. */
export const checkReadable = (stats: Stats, path: string): void => {
  const refuse = (what: string): never => {
    throw new RetryableToolError(`${quotePath(path)} is ${what}. Choose the path of a regular file.`);
  };
  if (stats.isDirectory()) refuse('a directory, not a file');
  if (!stats.isFile()) refuse(`${describeKind(stats)}, not a regular file`);
  // A second name may lie anywhere on the same disk, outside too, and nothing tells which of the names is the real
  // one. So a file counts as the workspace's own only while it has one name, at the price of trees of hard links
  // (pnpm's node_modules) being unreadable.
  if (stats.nlink > 1) refuse('a hard link that may belong to a file outside the workspace');
};

const describeKind = (stats: Stats): string => {
  if (stats.isFIFO()) return 'a FIFO';
  return stats.isSocket() ? 'a socket' : 'a device';
};
