import type { LoadableFile, SourceSet } from './loadable-file.ts';
import type { ToolHost } from './tool-host.ts';

/** A call that waits for a host. Exactly one of the two is called. */
export type HostWaiter = {
  /** Whether no other call may run beside it. */
  readonly isAlone: boolean;
  readonly take: (member: PoolMember) => void;
  /** `retryAfterMs`: when its process is started again; 0 = with the next call. */
  readonly fail: (reason: string, retryAfterMs: number) => void;
};

/** One version of a tool file: what its hosts need, who waits for one, and how it behaved. */
export type HostedFile = LoadableFile & {
  /** All of the directory until it has been loaded, then what it imported. */
  sources: SourceSet;
  /** Variables its tools ask for and are granted. */
  granted: readonly string[];
  /** By choice: the file, or the operator, asks for processes of its own. */
  isOwn: boolean;
  /** By conduct: it has processes of its own until then. */
  ownUntil: number;
  /** Tools that blocked their host beside others, until when they run alone. */
  readonly aloneUntil: Map<string, number>;
  /** Hosts whose turn is this file's. */
  readonly members: Set<PoolMember>;
  readonly waiting: Set<HostWaiter>;
  /** Since when somebody waits. */
  waitingSince: number;
  /** Whether a process has loaded it, so that others may be started without a call. */
  isLoaded: boolean;
  retired: boolean;
  /** Deaths and failed starts in a row, without an answer in between. */
  troubles: number;
  /** No host starts for it before this moment. */
  restartAt: number;
};

/**
 * A host and what it is doing. `starting` until its process is up; `busy` while it loads a file or a call has one of its
 * seats; else `idle`. Closed, it takes no further call.
 */
export type PoolMember = {
  readonly host: ToolHost;
  /** Which files it may run: see `toGroup`. */
  group: string;
  /** The only file that it may run; null where several may. */
  owner: HostedFile | null;
  phase: 'starting' | 'idle' | 'busy';
  /** Since when, in milliseconds of the pool's clock. */
  since: number;
  /** Since when something has gone on in it after calls; null where nothing does. */
  restlessSince: number | null;
  /** The file whose calls it runs, or ran last. */
  turn: HostedFile | null;
  readonly loaded: Set<HostedFile>;
  isLoading: boolean;
  /** Calls that it has been given and that have not ended. */
  seats: number;
  /** Its only call has no others beside it. */
  isAlone: boolean;
  /** Another file waits for it: it takes no more calls of this one. */
  isYielding: boolean;
  /**
   * `overdue`: a call in it did not end at its deadline. `silent`: it answers nothing. `left`: a call that it may still
   * run was given to another host.
   */
  closedFor: 'overdue' | 'silent' | 'left' | null;
  /** Versions that it holds and nobody calls any more. */
  deadVersions: number;
};
