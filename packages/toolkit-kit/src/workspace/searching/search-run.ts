import { closeSync, type Dir, type Dirent, fstatSync, opendirSync } from 'node:fs';
import { errorCodeOf, unlessRefused } from '../file-errors.ts';
import { SKIPPED } from '../missing.ts';
import { fill, isOwnFile, type Pinned, pin } from '../pin.ts';
import { TEMPORARY_NAME } from '../read-entries.ts';
import type { Match, SearchOutcome, SearchRequest } from '../search-thread.ts';

type FoundLine = Omit<Match, 'path'>;

type LineSearch = {
  /** In lower case, without line ends. */
  readonly needle: string;
  /** How many lines are enough. */
  readonly wanted: number;
  /** Performance time at which it ends with what it has found. */
  readonly endsAt: number;
};

/** The lines of `text` that hold the needle in upper or lower case. Yields between steps of some milliseconds. */
function* findLines(text: string, search: LineSearch): Generator<undefined, readonly FoundLine[]> {
  // Most files hold nothing, and are done without being cut into lines.
  if ((yield* findIn(text.toLowerCase(), search)) < 0) return [];
  const found: FoundLine[] = [];
  let line = 0;
  for (const content of linesOf(text)) {
    if (found.length >= search.wanted) break;
    line += 1;
    const at = yield* findIn(content.toLowerCase(), search);
    if (at >= 0) found.push({ line, text: cutExcerpt(content.replace(/\r$/, ''), at) });
    if (line % LINES_A_STEP === 0) yield;
  }
  return found;
}

const LINES_A_STEP = 4096;

// One after the other: two million empty lines at once would be an array of 16 MB.
function* linesOf(text: string): Generator<string> {
  for (let start = 0; ; ) {
    const end = text.indexOf('\n', start);
    if (end < 0) return yield text.slice(start);
    yield text.slice(start, end);
    start = end + 1;
  }
}

// A needle and a text can be made so that looking through 2 MiB takes a second; through this much it takes milliseconds.
const WINDOW = 16_384;

/** Where the needle begins, -1 where it is not there or the time is over. */
function* findIn(lower: string, { needle, endsAt }: LineSearch): Generator<undefined, number> {
  if (lower.length <= WINDOW) return lower.indexOf(needle);
  for (let from = 0; from < lower.length && performance.now() < endsAt; from += WINDOW) {
    const at = lower.slice(from, from + WINDOW + needle.length - 1).indexOf(needle);
    if (at >= 0) return from + at;
    yield;
  }
  return -1;
}

const MAX_EXCERPT = 300;
const BEFORE_MATCH = 100;

const cutExcerpt = (line: string, at: number): string => {
  if (line.length <= MAX_EXCERPT) return line;
  const from = Math.max(0, Math.min(at - BEFORE_MATCH, line.length - MAX_EXCERPT));
  const to = from + MAX_EXCERPT;
  return `${from > 0 ? '…' : ''}${line.slice(from, to)}${to < line.length ? '…' : ''}`.toWellFormed();
};

type NamesLeft = { entries: number; characters: number };

type Names = {
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
function* readNames(
  link: string,
  left: NamesLeft,
): Generator<undefined, (Names & { readonly complete: boolean }) | undefined> {
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

/** One search, a step of some milliseconds at most between two yields. */
export type SearchRun = Generator<undefined, SearchOutcome>;

type SearchResources = {
  /** Performance time at which it ends with what it has found. */
  readonly endsAt: number;
  /** Takes the bytes of one file after the other; as long as the largest part of a file that is searched. */
  readonly buffer: Buffer;
};

type Search = SearchRequest &
  SearchResources & {
    readonly needle: string;
    readonly left: NamesLeft;
    readonly tally: { readonly matches: Match[]; bytes: number; unreadable: number; truncated: boolean };
  };

/** Searches one file, or all below a directory, the nearer ones first and by name, until a limit is reached. */
export function* runSearch(request: SearchRequest, terms: SearchResources): SearchRun {
  const { limits, kind } = request;
  const left = { entries: limits.maxEntries, characters: limits.maxNameCharacters };
  const tally: Search['tally'] = { matches: [], bytes: 0, unreadable: 0, truncated: false };
  const search: Search = { ...request, ...terms, needle: request.query.toLowerCase(), left, tally };
  const failure = kind === 'file' ? yield* searchOne(search) : yield* searchBelow(search);
  if (failure !== undefined) return failure;
  const matches = tally.matches.slice(0, limits.maxMatches);
  const truncated = tally.truncated || matches.length < tally.matches.length;
  return { kind: 'found', findings: { matches, truncated, unreadable: tally.unreadable } };
}

type Failure = Exclude<SearchOutcome, { readonly kind: 'found' }>;

// What the call had found there is not there any more.
const GONE: Failure = { kind: 'unreadable', code: 'ENOENT' };

function* searchOne(search: Search): Generator<undefined, Failure | undefined> {
  const { path } = search;
  using place = pin(search, path, 'any');
  if (place === undefined || !isOwnFile(place.stats)) return GONE;
  const found = yield* searchFile(search, { path, open: place.open });
  if (found === 'unreadable') return { kind: 'unreadable', code: 'EACCES' };
  return found === 'binary' ? { kind: 'binary' } : undefined;
}

function* searchBelow(search: Search): Generator<undefined, Failure | undefined> {
  const { path, tally } = search;
  using start = pin(search, path, 'any');
  if (start === undefined) return GONE;
  const queue: string[] = [];
  let isWhole = yield* searchDirectory(search, { directory: path, place: start, queue });
  for (const directory of queue) {
    if (!isWhole) break;
    using place = pin(search, directory, 'directory');
    if (place !== undefined) isWhole = yield* searchDirectory(search, { directory, place, queue });
  }
  if (!isWhole) tally.truncated = true;
  return undefined;
}

type SearchedDirectory = {
  readonly directory: string;
  readonly place: Pinned;
  /** Gets the directories in it. */
  readonly queue: string[];
};

/** Gives false where a limit ends the search. */
function* searchDirectory(
  search: Search,
  { directory, place, queue }: SearchedDirectory,
): Generator<undefined, boolean> {
  const names = yield* readNames(place.link, search.left);
  if (names === undefined || !place.isSame()) return true;
  const prefix = directory === '.' ? '' : `${directory}/`;
  const isWhole = yield* searchFiles(search, { place, prefix, names: names.files });
  if (!isWhole || (names.directories.length > 0 && isSpent(search))) return false;
  for (const name of names.directories) {
    search.left.characters -= prefix.length + name.length;
    if (search.left.characters < 0) return false;
    queue.push(`${prefix}${name}`);
  }
  return names.complete;
}

type SearchedFiles = { readonly place: Pinned; readonly prefix: string; readonly names: readonly string[] };

// That the directory lies inside was proved once. Files are opened below what is pinned, by one name each that is no
// link: each lies in this very directory, whatever is renamed or put under its path meanwhile.
function* searchFiles(search: Search, { place, prefix, names }: SearchedFiles): Generator<undefined, boolean> {
  for (const name of names) {
    if (isSpent(search)) return false;
    const file = { path: `${prefix}${name}`, open: () => place.openEntry(name) };
    if ((yield* searchFile(search, file)) === 'unreadable') search.tally.unreadable += 1;
    yield;
  }
  return true;
}

const isSpent = ({ tally, limits, endsAt }: Search): boolean =>
  tally.matches.length > limits.maxMatches || tally.bytes >= limits.maxTotalBytes || performance.now() >= endsAt;

type SearchedFile = { readonly path: string; readonly open: () => number };

function* searchFile(search: Search, file: SearchedFile): Generator<undefined, 'text' | 'binary' | 'unreadable'> {
  const { tally, limits, needle, endsAt } = search;
  const beginning = readBeginning(search, file);
  if (beginning === undefined) return 'unreadable';
  const { bytes, size } = beginning;
  tally.bytes += bytes.length;
  if (bytes.includes(0)) return 'binary';
  if (size > bytes.length) tally.truncated = true;
  // One more than wanted, to know whether there are more.
  const wanted = limits.maxMatches + 1 - tally.matches.length;
  // Other searches use the buffer as soon as this one yields: what is looked through is the text.
  for (const found of yield* findLines(bytes.toString(), { needle, wanted, endsAt }))
    tally.matches.push({ path: file.path, ...found });
  if (performance.now() >= endsAt) tally.truncated = true;
  return 'text';
}

/** A view of the buffer, and the size of the file; undefined where it is no regular file of the workspace alone. */
const readBeginning = ({ limits, buffer }: Search, { open }: SearchedFile) =>
  unlessRefused(() => {
    const descriptor = open();
    try {
      const stats = fstatSync(descriptor);
      if (!isOwnFile(stats)) return undefined;
      const length = Math.min(limits.maxFileBytes, stats.size, buffer.length);
      return { bytes: buffer.subarray(0, fill(descriptor, buffer.subarray(0, length))), size: stats.size };
    } finally {
      closeSync(descriptor);
    }
  });
