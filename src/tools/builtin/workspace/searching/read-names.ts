import { type Dir, type Dirent, opendirSync } from 'node:fs';
import { errorCodeOf, unlessRefused } from '../file-errors.ts';
import { TEMPORARY_NAME } from '../read-entries.ts';
import { SKIPPED } from '../walk.ts';

/** What is left of a search's limits of names. */
export type NamesLeft = { entries: number; characters: number };

export type Names = {
  /** In the order of UTF-16 code units. */
  readonly files: string[];
  readonly directories: string[];
};

// A name is looked at in about a microsecond.
const NAMES_A_STEP = 1024;

/**
 * The names of files and directories at `link`, and whether those are all: as many are read as `left` has, and taken from
 * it; undefined where the directory cannot be read. Yields while it reads.
 */
export function* readNames(link: string, left: NamesLeft): Generator<undefined, ReadNames | undefined> {
  const directory = unlessRefused(() => opendirSync(link, { bufferSize: 256 }));
  if (directory === undefined) return undefined;
  const names: Names = { files: [], directories: [] };
  try {
    const complete = yield* readInto(names, directory, left);
    names.files.sort();
    names.directories.sort();
    return { ...names, complete };
  } catch (thrown) {
    if (errorCodeOf(thrown) !== undefined) return undefined;
    throw thrown;
  } finally {
    directory.closeSync();
  }
}

type ReadNames = Names & { readonly complete: boolean };

function* readInto(names: Names, directory: Dir, left: NamesLeft): Generator<undefined, boolean> {
  for (let read = 1; ; read += 1) {
    const entry = directory.readSync();
    if (entry === null) return true;
    if (TEMPORARY_NAME.test(entry.name)) continue;
    if (left.entries <= 0 || left.characters < entry.name.length) return false;
    left.entries -= 1;
    left.characters -= entry.name.length;
    sortIn(names, entry);
    if (read % NAMES_A_STEP === 0) yield;
  }
}

const sortIn = ({ files, directories }: Names, entry: Dirent): void => {
  if (entry.isFile()) files.push(entry.name);
  else if (entry.isDirectory() && !SKIPPED.has(entry.name)) directories.push(entry.name);
};
