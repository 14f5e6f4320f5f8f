import type { Dirent } from 'node:fs';
import { opendir } from 'node:fs/promises';
import type { Place } from './place.ts';

export type Entry = {
  readonly name: string;
  readonly type: 'file' | 'directory' | 'symlink' | 'other';
};

export type Entries = {
  /** By name, in the order of UTF-16 code units. */
  readonly entries: readonly Entry[];
  /** False where the directory holds more than were looked at. */
  readonly complete: boolean;
};

// What write_file has under way; after a kill -9 one may stay behind. Neither is anything a model should see.
export const TEMPORARY_NAME = /^\.recourse-[0-9a-f-]{36}\.tmp$/;

/** The entries of a directory, at most `limit` of them, streamed: a million names never lie in memory together. */
export const readEntries = async (directory: Place, limit: number, signal: AbortSignal): Promise<Entries> => {
  const entries: Entry[] = [];
  for await (const dirent of await opendir(directory.link, { bufferSize: 256 })) {
    signal.throwIfAborted();
    if (entries.length >= limit) return { entries: sort(entries), complete: false };
    if (!TEMPORARY_NAME.test(dirent.name)) entries.push({ name: dirent.name, type: readType(dirent) });
  }
  return { entries: sort(entries), complete: true };
};

export type Page = {
  /** Only names that sort after this one. */
  readonly after: string | undefined;
  readonly most: number;
  /** Names looked at. */
  readonly limit: number;
  readonly signal: AbortSignal;
};

/** The first entries of a directory by name, at most `most` of them, whatever order the system gives them in. */
export const readPage = async (directory: Place, { after = '', most, limit, signal }: Page): Promise<Entries> => {
  let first: Entry[] = [];
  let looked = 0;
  for await (const dirent of await opendir(directory.link, { bufferSize: 1024 })) {
    signal.throwIfAborted();
    looked += 1;
    if (looked > limit) return { entries: sort(first).slice(0, most), complete: false };
    if (dirent.name <= after || TEMPORARY_NAME.test(dirent.name)) continue;
    first.push({ name: dirent.name, type: readType(dirent) });
    // What sorts behind as many as are wanted is let go now and then.
    if (first.length >= 8 * most) first = sort(first).slice(0, most);
  }
  return { entries: sort(first).slice(0, most), complete: true };
};

const sort = (entries: readonly Entry[]): readonly Entry[] => entries.toSorted((a, b) => (a.name < b.name ? -1 : 1));

const readType = (dirent: Dirent): Entry['type'] => {
  if (dirent.isFile()) return 'file';
  if (dirent.isDirectory()) return 'directory';
  return dirent.isSymbolicLink() ? 'symlink' : 'other';
};
