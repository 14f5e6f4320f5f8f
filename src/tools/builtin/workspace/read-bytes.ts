import type { Stats } from 'node:fs';
import { RetryableToolError } from '../../tool-errors.ts';
import type { Place } from './place.ts';
import { quotePath } from './workspace-path.ts';

export type Span = { readonly offset: number; readonly length: number };

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

/** Throws RetryableToolError for everything that is no regular file of the workspace alone. */
export const checkReadable = (stats: Stats, path: string): void => {
  const refuse = (what: string): never => {
    throw new RetryableToolError(`${quotePath(path)} is ${what}. Choose the path of a regular file.`);
  };
  if (stats.isDirectory()) refuse('a directory, not a file');
  if (!stats.isFile()) refuse(`no regular file but ${toKind(stats)}`);
  // A second name may lie anywhere on the same disk, outside too, and nothing tells which of the names is the real
  // one. So a file counts as the workspace's own only while it has one name, at the price of trees of hard links
  // (pnpm's node_modules) being unreadable.
  if (stats.nlink > 1) refuse('a hard link and may belong to a place outside the workspace');
};

const toKind = (stats: Stats): string => {
  if (stats.isFIFO()) return 'a FIFO';
  return stats.isSocket() ? 'a socket' : 'a device';
};
