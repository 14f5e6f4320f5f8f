import { closeSync, fstatSync } from 'node:fs';
import { unlessRefused } from '../file-errors.ts';
import { pin } from '../pin.ts';
import { fill, isOwnFile, type Pinned } from '../pinned.ts';
import type { Match, SearchOutcome, SearchRequest } from '../search-messages.ts';
import { findLines } from './find-lines.ts';
import { type NamesLeft, readNames } from './read-names.ts';

/** One search, a step of some milliseconds at most between two yields. */
export type SearchRun = Generator<undefined, SearchOutcome>;

export type SearchTerms = {
  /** Performance time at which it ends with what it has found. */
  readonly endsAt: number;
  /** Takes the bytes of one file after the other; as long as the largest part of a file that is searched. */
  readonly buffer: Buffer;
};

type Search = SearchRequest &
  SearchTerms & {
    readonly needle: string;
    readonly left: NamesLeft;
    readonly tally: { readonly matches: Match[]; bytes: number; unreadable: number; truncated: boolean };
  };

/** Searches one file, or all below a directory, the nearer ones first and by name, until a limit is reached. */
export function* runSearch(request: SearchRequest, terms: SearchTerms): SearchRun {
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
