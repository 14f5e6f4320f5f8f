import type { LoadedToolFile } from '../tools/directory/load-tool-file.ts';
import type { ToolFile } from '../tools/tool.ts';
import type { Death, RestartReason } from './isolation-observer.ts';
import type { ToolHost } from './tool-host.ts';

/** A call that waits for a host. Exactly one of the two is called. */
export type HostWaiter = {
  readonly take: (member: PoolMember) => void;
  /** `retryAfterMs`: when its process is started again; 0 = with the next call. */
  readonly fail: (reason: string, retryAfterMs: number) => void;
};

/** A host and what it is doing. */
export type PoolMember = {
  readonly host: ToolHost;
  readonly hosts: FileHosts;
  phase: 'starting' | 'idle' | 'busy';
  /** Since when, in milliseconds of the pool's clock. */
  since: number;
};

/** The hosts of one version of a file, and who waits for one. */
export type FileHosts = {
  readonly file: ToolFile;
  /** What its hosts need of the directory: all of it until one has loaded, then what that one imported. */
  sources: readonly (readonly [path: string, text: string])[];
  /** Variables its tools ask for. */
  asked: readonly string[];
  readonly members: Set<PoolMember>;
  readonly waiting: Set<HostWaiter>;
  /** Whether a process has loaded it, so that others may be started without a call. */
  isLoaded: boolean;
  retired: boolean;
  /** Deaths and failed starts in a row, without an answer in between. */
  troubles: number;
  /** No host starts before this moment. */
  restartAt: number;
};

export type HostPoolSettings = {
  /** Starts a process for a version of a file; null where the system gives none. */
  readonly startHost: (hosts: FileHosts) => ToolHost | null;
  readonly minHosts: number;
  readonly maxHosts: number;
  /** Calls after which a host is replaced. */
  readonly maxCalls: number;
  readonly now: () => number;
  /** `restart`: why it must be replaced, null where it need not be. */
  readonly onEnded: (member: PoolMember, death: Death, restart: RestartReason | null) => void;
};

export const createFileHosts = (file: ToolFile): FileHosts => ({
  file,
  sources: [...file.sources],
  asked: [],
  members: new Set(),
  waiting: new Set(),
  isLoaded: false,
  retired: false,
  troubles: 0,
  restartAt: 0,
});

/** What the first load has taught: later hosts are sent no more of the directory than they import. */
export const learnFrom = (hosts: FileHosts, loaded: Extract<LoadedToolFile, { kind: 'loaded' }>): void => {
  const imported = new Set(loaded.imported);
  hosts.sources = hosts.sources.filter(([path]) => imported.has(path));
  hosts.isLoaded = true;
  hosts.asked = [...new Set(loaded.tools.flatMap(({ env }) => env))];
};

const FREE_TROUBLES = 5;
const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 30_000;

/** Notes a death or a failed start. Five in a row cost nothing; from then on each doubles the time until the next start. */
export const noteTrouble = (hosts: FileHosts, now: number): void => {
  hosts.troubles += 1;
  const doublings = hosts.troubles - FREE_TROUBLES - 1;
  if (doublings < 0) return;
  hosts.restartAt = now + Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(doublings, 20));
};

/** How many are in this phase. */
export const countPhase = (members: Iterable<PoolMember>, phase: PoolMember['phase']): number => {
  let count = 0;
  for (const member of members) if (member.phase === phase) count += 1;
  return count;
};

/** How many are about to end: each makes room for another. */
export const countEnding = (members: Iterable<PoolMember>): number => {
  let count = 0;
  for (const { host } of members) if (host.isEnding()) count += 1;
  return count;
};

/** The member of this phase that has been in it for the longest time, or the shortest. */
export const findMember = (
  members: Iterable<PoolMember>,
  phase: PoolMember['phase'],
  which: 'oldest' | 'newest',
): PoolMember | undefined => {
  let found: PoolMember | undefined;
  for (const member of members) {
    if (member.phase !== phase || member.host.isEnding()) continue;
    if (found === undefined || (which === 'oldest' ? member.since < found.since : member.since > found.since))
      found = member;
  }
  return found;
};

/** The file that may have another host without a call for it, and has the fewest. */
export const findLeastServed = (files: Iterable<FileHosts>, now: number): FileHosts | undefined => {
  const ready = [...files].filter(({ isLoaded, retired, restartAt }) => isLoaded && !retired && restartAt <= now);
  return ready.sort((a, b) => a.members.size - b.members.size)[0];
};
