import { spawnSync } from 'node:child_process';

/** Where processes run: the servers on one core, and the load, Redis and the bench itself on another. */
export type Cores =
  | { readonly pinned: true; readonly server: number; readonly load: number }
  | { readonly pinned: false; readonly reason: string };

const SERVER_CORE = 0;
const LOAD_CORE = 1;

const pin = (words: readonly string[]): string | null => {
  const { error, status, stderr } = spawnSync('taskset', words, { encoding: 'utf8' });
  if (error !== undefined) return 'taskset is not installed (Debian: apt-get install util-linux)';
  return status === 0 ? null : stderr.trim();
};

/** Moves this process to the load's core, where its children begin, too; or says why nothing can be pinned here. */
export const claimCores = (): Cores => {
  const reason = pin(['-c', String(SERVER_CORE), 'true']) ?? pin(['-a', '-cp', String(LOAD_CORE), String(process.pid)]);
  return reason === null ? { pinned: true, server: SERVER_CORE, load: LOAD_CORE } : { pinned: false, reason };
};

/** The words of a command line that run on `core`. taskset becomes the command it starts, so the pid is the command's. */
export const onCore = (core: number | null, words: readonly string[]): readonly string[] =>
  core === null ? words : ['taskset', '-c', String(core), ...words];
