import { type BigIntStats, constants } from 'node:fs';
import { open, opendir, readdir, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { findNearestNames } from 'recourse-server/contract/nearest-names';

/** All source files of a tools directory as they were read together. */
export type DirectorySnapshot = {
  /** Absolute, without symbolic links. */
  readonly root: string;
  /** Differs as soon as a source file was added, removed, renamed or changed. */
  readonly fingerprint: string;
  /** Absolute path → text. */
  readonly sources: ReadonlyMap<string, string>;
  /** Absolute path → why that file cannot be read. */
  readonly unreadable: ReadonlyMap<string, string>;
};

type ScannedDirectory = Pick<DirectorySnapshot, 'root' | 'fingerprint'> & { readonly paths: readonly string[] };

// A directory that holds more is a mistake, such as a home directory; every tool host gets the texts.
const MAX_FILES = 1000;
const MAX_BYTES = 16 * 1024 * 1024;
// What is not source costs a look each time.
const MAX_ENTRIES = 10_000;

const SOURCE = /\.(?:[cm]?[jt]s|json)$/;
const TOOL_FILE = /\.m?[jt]s$/;
const NO_TOOL_FILE = /\.(?:d|test|spec|config)\.m?[jt]s$/;

/** Whether a file of this name is looked at for tools. Others are there for it to import. */
export const isToolFile = (path: string): boolean => TOOL_FILE.test(path) && !NO_TOOL_FILE.test(path);

/** The source files below `directory` and their fingerprint, opening none. Rejects with one sentence for people. */
export const scanDirectory = async (directory: string): Promise<ScannedDirectory> => {
  const root = await realpath(directory).catch(async (cause: unknown) =>
    refuse(`${directory} ${explainProblem(cause)}${await suggestNeighbour(directory)}`, cause),
  );
  const marks = new Map<string, string>();
  for await (const path of walk(root)) {
    const mark = SOURCE.test(path) ? await markOf(path) : null;
    if (mark !== null) marks.set(path, mark);
    if (marks.size > MAX_FILES) refuse(`${directory} contains more than ${MAX_FILES} source files`);
  }
  const paths = [...marks.keys()].sort();
  const lines = paths.map((path) => `${relative(root, path)} ${marks.get(path)}`);
  return { root, fingerprint: [root, ...lines].join('\n'), paths };
};

/** Everything below `root` but folders, hidden entries, and installed packages; links are not walked through. */
async function* walk(root: string): AsyncGenerator<string, void, undefined> {
  const folders = [root];
  const seen = { entries: 0 };
  for (const folder of folders) {
    for await (const entry of entriesOf(folder, root, seen)) {
      if (entry.isDirectory()) folders.push(join(folder, entry.name));
      else yield join(folder, entry.name);
    }
  }
}

async function* entriesOf(folder: string, root: string, seen: { entries: number }) {
  const opened = await opendir(folder).catch((cause: unknown) => {
    // Below the root a folder may be gone by now.
    if (folder !== root && isMissing(cause)) return null;
    return refuse(`${folder} ${explainProblem(cause)}`, cause);
  });
  // Not readdir, which gives all at once: there may be a million.
  for await (const entry of opened ?? []) {
    seen.entries += 1;
    if (seen.entries > MAX_ENTRIES) refuse(`${root} contains more than ${MAX_ENTRIES} entries`);
    if (!entry.name.startsWith('.') && entry.name !== 'node_modules') yield entry;
  }
}

/**
 * Everything a tools directory holds, in memory. Rejects with one sentence for people where it cannot be had. Texts
 * that are as in `previous` are not kept a second time: a version that serves for long must not hold a directory of its own.
 */
export const readDirectory = async (
  directory: string,
  previous: DirectorySnapshot['sources'] = new Map(),
): Promise<DirectorySnapshot> => {
  // Scanned first: a change while reading shows as another fingerprint the next time.
  const { root, fingerprint, paths } = await scanDirectory(directory);
  const sources = new Map<string, string>();
  const unreadable = new Map<string, string>();
  let bytes = 0;
  for (const path of paths) {
    const content = await readSource(path, MAX_BYTES - bytes).catch((cause: unknown) => explainProblem(cause));
    if (content === 'too large')
      refuse(`${directory} contains more than ${MAX_BYTES / 1024 / 1024} MiB of source files`);
    if (typeof content === 'string') unreadable.set(path, content);
    if (!Buffer.isBuffer(content)) continue;
    bytes += content.length;
    const text = content.toString('utf8');
    const before = previous.get(path);
    sources.set(path, before === text ? before : text);
  }
  return { root, fingerprint, sources, unreadable };
};

const refuse = (problem: string, cause?: unknown): never => {
  throw new Error(`TOOLS_DIR ${problem}.`, { cause });
};

/** What tells two states of a regular file apart; null for everything else. Follows links, opens nothing. */
const markOf = async (path: string): Promise<string | null> => {
  // What has gone by now, or cannot be reached, is not there.
  const stats = await stat(path, { bigint: true }).catch(() => null);
  return stats?.isFile() ? formatMark(stats) : null;
};

const formatMark = ({ size, mtimeNs, ctimeNs, ino, dev }: BigIntStats): string =>
  [size, mtimeNs, ctimeNs, ino, dev].join(' ');

const readSource = async (path: string, limit: number): Promise<Buffer | 'too large' | null> => {
  // Not blocking: a FIFO put in the place of a file would hold a thread until a process writes.
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const stats = await file.stat();
  if (!stats.isFile()) return null;
  const buffer = Buffer.alloc(Math.min(stats.size, limit) + 1);
  let filled = 0;
  // To the end, and at most one byte further than there was: it may grow while it is read.
  while (filled < buffer.length) {
    const { bytesRead } = await file.read(buffer, filled, buffer.length - filled, filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return filled > limit ? 'too large' : buffer.subarray(0, filled);
};

const isMissing = (cause: unknown): boolean => ['ENOENT', 'ENOTDIR'].includes(codeOf(cause));

const codeOf = (cause: unknown): string =>
  cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : '';

/** `: did you mean /srv/tools?` where a directory beside it is called nearly so. */
const suggestNeighbour = async (directory: string): Promise<string> => {
  const around = dirname(resolve(directory));
  const entries = await readdir(around, { withFileTypes: true }).catch(() => []);
  const missing = basename(directory);
  // It may have come back since.
  const names = entries.flatMap((entry) => (entry.isDirectory() && entry.name !== missing ? [entry.name] : []));
  const [near] = findNearestNames(missing, names, 1);
  return near === undefined ? '' : `: did you mean ${join(around, near)}?`;
};

const PROBLEMS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'is not a directory',
  EACCES: 'cannot be read by this user',
  EPERM: 'cannot be read by this user',
  ELOOP: 'is a loop of symbolic links',
};

const explainProblem = (cause: unknown): string =>
  PROBLEMS[codeOf(cause)] ?? `cannot be read (${codeOf(cause) || cause})`;
