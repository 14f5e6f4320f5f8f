import type { HostedTool } from '../tools/tool.ts';
import type { HostListener, Unrest } from './host-conversation.ts';
import type { ThrownPart } from './host-messages.ts';
import type { HostedCall } from './hosted-call.ts';
import type { Death, KillReason } from './isolation-observer.ts';
import type { HostLaunch } from './launch-host.ts';
import type { HostLoad, LoadableFile } from './loadable-file.ts';
import type { ProcessTable } from './process-table.ts';
import type { HostedEnd, RunningCall } from './running-call.ts';

export type HostSettings = {
  readonly launch: HostLaunch;
  readonly processes: Pick<ProcessTable, 'findDescendants' | 'waitedMs'>;
  readonly maxResultBytes: number;
  readonly createNonce: () => string;
  /** Milliseconds of the system's monotonic clock. */
  readonly monotonic: () => number;
  readonly listener: HostObserver;
};

/** Who hears of what goes wrong in hosts. `file`: the tool's, else the one that the host ran last; an absolute path. */
export type HostObserver = Pick<HostListener, 'onDropped'> & {
  readonly onStray: (tool: string | null, file: string, thrown: readonly ThrownPart[]) => void;
  readonly onUnfit: (tool: string | null, file: string, reason: string) => void;
  readonly onLine: (file: string, stream: 'stdout' | 'stderr', line: string) => void;
};

export type LoadTerms = { readonly placing: 'shared' | 'own'; readonly maxLoadMs: number };

/** One tool host as the service sees it: a process that loads files and answers calls, of one file at a time. */
export type ToolHost = {
  readonly pid: number;
  /** null where the process came up, else why not. Never rejects. */
  readonly ready: Promise<string | null>;
  /** Never rejects. */
  readonly load: (file: LoadableFile, terms: LoadTerms) => Promise<HostLoad>;
  readonly unload: (file: LoadableFile) => void;
  /** Runs a call; its end never rejects. `beginWithinMs`: the host does not begin it later; null = whenever. */
  readonly run: (call: HostedCall, version: string, beginWithinMs: number | null) => StartedCall;
  /** The calls that were sent and have not ended. */
  readonly calls: ReadonlySet<RunningCall>;
  /** Aborts the signal of a call. */
  readonly abort: (call: RunningCall, reason: 'TimeoutError' | 'AbortError') => void;
  readonly ping: () => void;
  /** When something was heard of it last, on the monotonic clock. */
  readonly heardAt: () => number;
  /** Ends the whole process group at once. */
  readonly kill: (reason: KillReason) => void;
  readonly ended: Promise<Death>;
  readonly isEnding: () => boolean;
  /** Whether its state can be trusted no more: a call changed it, or something was thrown behind its back. */
  readonly isSpent: () => boolean;
  /** Whose call made it so; null where that is not known. */
  readonly spoiler: () => HostedTool | null;
  /** What goes on in it although no call runs, so that no other file may run there; null where nothing does. */
  readonly unrest: () => Unrest | null;
  /** Calls it has answered. */
  readonly answered: () => number;
  /** To be called when it becomes spent, restless or quiet. */
  readonly onState: (listener: () => void) => void;
};

export type StartedCall = { readonly call: RunningCall; readonly end: Promise<HostedEnd> };
