import type { DirectoryLog } from './log-changes.ts';
import { type DirectorySnapshot, scanDirectory } from './read-directory.ts';

export type WatcherOptions = {
  readonly root: string;
  readonly pollMs: number;
  /** The directory as it is; texts that are as in `known` are kept once. Where it rejects, what was applied stays. */
  readonly read: (known?: DirectorySnapshot['sources']) => Promise<DirectorySnapshot>;
  /** Told of every change. What it rejects with is logged; the change counts as applied. */
  readonly apply: (snapshot: DirectorySnapshot) => Promise<void>;
  readonly log: DirectoryLog;
};

export type DirectoryWatcher = {
  /** Watches for what differs from this snapshot. */
  readonly start: (applied: DirectorySnapshot) => void;
  readonly stop: () => void;
};

/** Looks at a tools directory again and again. Polled: inotify does not see what another machine changes on a share. */
export const createDirectoryWatcher = ({ root, pollMs, read, apply, log }: WatcherOptions): DirectoryWatcher => {
  const state = { stopped: false, seen: '', trouble: '' };
  let applied: DirectorySnapshot | null = null;
  let timer: NodeJS.Timeout | undefined;
  const look = async (): Promise<void> => {
    const { fingerprint } = await scanDirectory(root);
    const standsStill = fingerprint === state.seen;
    state.seen = fingerprint;
    // Applied once two looks agree: editors save in steps, a deployment copies file by file.
    if (!standsStill || fingerprint === applied?.fingerprint) return;
    applied = await read(applied?.sources);
    if (!state.stopped) await apply(applied);
  };
  const lookAndGoOn = async (): Promise<void> => {
    const trouble = await look().then(() => '', String);
    if (state.stopped) return;
    // Said once. What serves goes on serving, whatever happens to the directory.
    if (trouble !== '' && trouble !== state.trouble) log.warn({ reason: trouble }, 'tools directory cannot be read');
    state.trouble = trouble;
    schedule();
  };
  const schedule = (): void => {
    timer = setTimeout(() => void lookAndGoOn(), pollMs).unref();
  };
  return {
    start: (snapshot) => {
      applied = snapshot;
      state.seen = snapshot.fingerprint;
      schedule();
    },
    stop: () => {
      state.stopped = true;
      clearTimeout(timer);
    },
  };
};
