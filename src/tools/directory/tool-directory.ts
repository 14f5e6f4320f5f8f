import type { ToolFacts, ToolFile } from '../tool.ts';
import type { ToolOffer } from '../tool-offer.ts';
import { countFiles, type FileCounts, type FileStates, loadChangedFiles, needsHosts } from './file-versions.ts';
import { closeInlineTools } from './inline-resources.ts';
import type { ToolFileHosts } from './load-tool-file.ts';
import { createLoadVersion, type InlineTools } from './load-version.ts';
import { type DirectoryLog, type DirectoryMoment, logChanges } from './log-changes.ts';
import { type DirectorySnapshot, readDirectory } from './read-directory.ts';
import { settleNames, toClaimKey } from './settle-names.ts';
import { createDirectoryWatcher } from './watch-directory.ts';

export type ToolDirectoryOptions = {
  readonly root: string;
  /** What is wrong with where the directory and its files lie, by each version of it; left out: nothing ever is. */
  readonly check?: (paths: readonly string[]) => Promise<readonly string[]>;
  readonly hosts: ToolFileHosts;
  /** Told all that is offered, whenever files changed. What was offered before counts no more. */
  readonly publish: (offer: ToolOffer) => void;
  /** Told how many files stand how, whenever files changed; left out: nobody is. */
  readonly onFiles?: (counts: FileCounts) => void;
  /** The service's own tools and reducers. */
  readonly taken: Iterable<Pick<ToolFacts, 'role' | 'name'>>;
  readonly inline: InlineTools;
  /** Whether tools may have the variable of this name; left out: none may. */
  readonly isAllowed?: (name: string) => boolean;
  readonly log: DirectoryLog;
  /** How long to wait between two looks at the directory. Default 500. */
  readonly pollMs?: number;
  /** How many files are asked for together. Default 32. */
  readonly loadsAtOnce?: number;
};

export type ToolDirectory = {
  /**
   * Resolves when every file is loaded or has failed, and watches from then on. Rejects with one sentence for people
   * where the directory cannot be read.
   */
  readonly start: () => Promise<void>;
  /** From now on nothing is published, and no file is retired. */
  readonly stop: () => void;
  /** Tears down what its tools hold inside the service. Never rejects. */
  readonly closeInline: () => Promise<void>;
};

// Their processes load them one after another: enough that these need not wait for the next one.
const LOADS_AT_ONCE = 32;

/** Offers the tools of a directory, and what becomes of them while its files change. */
export const createToolDirectory = (options: ToolDirectoryOptions): ToolDirectory => {
  const { root, hosts, log, pollMs = 500 } = options;
  const taken = new Set([...options.taken].map(toClaimKey));
  const { isAllowed = () => false } = options;
  const load = createLoadVersion(options);
  const loadsAtOnce = options.loadsAtOnce ?? LOADS_AT_ONCE;
  const state = { stopped: false, now: toMoment(new Map(), taken, new Map()) };

  const apply = async (snapshot: DirectorySnapshot): Promise<void> => {
    const before = state.now;
    const files = await loadChangedFiles(before.states, snapshot, { load, loadsAtOnce, isAllowed });
    if (state.stopped) return;
    state.now = toMoment(files, taken, before.settled.holders);
    options.publish(state.now.settled.offer);
    options.onFiles?.(countFiles(files));
    // Only now: until here calls came in for them.
    for (const file of filesGone(before.states, files)) hosts.retire(file);
    void closeInlineTools(before.states, files, log);
    logChanges(before, state.now, log);
  };

  const read = async (known?: DirectorySnapshot['sources']): Promise<DirectorySnapshot> => {
    const snapshot = await readDirectory(root, known);
    const mistakes = (await options.check?.([root, ...snapshot.sources.keys()])) ?? [];
    if (mistakes.length > 0) throw new Error(mistakes.join(' '));
    return snapshot;
  };

  const watcher = createDirectoryWatcher({ root, pollMs, read, apply, log });
  return {
    start: async () => {
      const snapshot = await read();
      await apply(snapshot);
      if (!state.stopped) watcher.start(snapshot);
    },
    stop: () => {
      state.stopped = true;
      watcher.stop();
    },
    closeInline: () => closeInlineTools(state.now.states, new Map(), log),
  };
};

const toMoment = (
  states: FileStates,
  taken: ReadonlySet<string>,
  holders: ReadonlyMap<string, string>,
): DirectoryMoment => ({ states, settled: settleNames(states, { taken, holders }) });

/** Versions that had hosts before and need none now. */
const filesGone = (before: FileStates, now: FileStates): readonly ToolFile[] => {
  const filesOf = (states: FileStates): readonly ToolFile[] =>
    [...states.values()].flatMap(({ good }) => (good !== null && needsHosts(good) ? [good.file] : []));
  const kept = new Set(filesOf(now));
  return filesOf(before).filter((file) => !kept.has(file));
};
