import type { CallOutcome } from 'recourse-server/executor/call-outcome';
import { type HostedTool, isSafe, type ToolFile, type ToolLog, type ToolProgress } from 'recourse-server/tools/tool';
import type { FailedFile, LoadedFile } from './directory/load-tool-file.ts';
import type { Death, KillReason } from './isolation-observer.ts';

/** Texts of a directory under a name: a host is sent them once. */
export class SourceSet {
  readonly name: string;
  readonly entries: readonly (readonly [path: string, text: string])[];
  #text: string | null = null;

  constructor(name: string, entries: SourceSet['entries']) {
    this.name = name;
    this.entries = entries;
  }

  toText(): string {
    this.#text ??= JSON.stringify(this.entries);
    return this.#text;
  }
}

/** A version of a tool file as a host loads it. */
export type LoadableFile = {
  readonly file: ToolFile;
  /** Its name in messages to hosts. */
  readonly version: string;
  readonly sources: SourceSet;
};

/** What came of loading a file in a host. */
export type HostLoad =
  /** `trace`: what loading it left behind that other files would meet; null where nothing. */
  | (LoadedFile & { readonly trace: string | null })
  /** The file itself says so. */
  | FailedFile
  /** It did not end within its time, or its process ended. */
  | { readonly kind: 'broken'; readonly reason: string }
  /** Another file is not done in this host: nothing was loaded. */
  | { readonly kind: 'refused' };

/** What a call in a host needs. */
export type HostedCall = {
  readonly tool: HostedTool;
  readonly input: Readonly<Record<string, unknown>>;
  readonly session: string | null;
  readonly tenant: string | null;
  readonly caller: string | null;
  readonly callId: string | number | null;
  readonly retriesLeft: number;
  readonly idempotencyKey: string | null;
  readonly traceparent: string | null;
  readonly graceful: 'on' | 'off';
  readonly purpose: 'run' | 'check';
  readonly timeoutMs: number;
  readonly log: () => ToolLog;
  readonly progress: (update: ToolProgress) => void;
  /** null: nobody watches its parts. */
  readonly part: ((value: unknown) => void) | null;
};

/** Whose work a host's death is: of this call; of another one; of this tool, or of any that ran, where it is not known which. */
export type Blame = 'this' | 'other' | 'tool' | 'any';

/** What came of a call in a host. `began`: the handler may have run. */
export type HostedEnd =
  | { readonly kind: 'ended'; readonly outcome: CallOutcome }
  | { readonly kind: 'died'; readonly death: Death; readonly began: boolean; readonly blame: Blame }
  /** It did not begin, or its host is blocked by another call: another host may run it. */
  | { readonly kind: 'moved'; readonly began: boolean };

/**
 * A call that was sent to a host: waiting, then `began` (its handler may have run), then over. It ends once; what comes
 * later is dropped.
 */
export class RunningCall {
  readonly nonce: string;
  readonly call: HostedCall;
  readonly tool: HostedTool;
  /** A moment of the monotonic clock; the host does not begin the call after it. null = none. */
  readonly beginBy: number | null;
  readonly end: Promise<HostedEnd>;
  /** How much the host has said of it. */
  messages = 0;
  bytes = 0;
  /** The handler may have run. */
  began = false;
  /** It went on after its deadline, or after its client had gone. */
  isOverdue = false;
  #isOver = false;
  readonly #resolve: (end: HostedEnd) => void;

  constructor(nonce: string, call: HostedCall, beginBy: number | null) {
    const { promise, resolve } = Promise.withResolvers<HostedEnd>();
    this.nonce = nonce;
    this.call = call;
    this.tool = call.tool;
    this.beginBy = beginBy;
    this.end = promise;
    this.#resolve = resolve;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get mayRunTwice(): boolean {
    return isSafe(this.tool);
  }

  /** The first end counts. */
  settle(end: HostedEnd): void {
    this.#isOver = true;
    this.#resolve(end);
  }
}

/** What goes on in a host although no call runs; `version`: of the file whose turn it was. */
export type PendingWork = { readonly version: string; readonly reason: string };

/** One tool host as the service sees it: a process that loads files and answers calls, of one file at a time. */
export type ToolHost = {
  readonly pid: number;
  /** null where the process came up, else why not. Never rejects. */
  readonly ready: Promise<string | null>;
  /** `placing`: whether other files may run there afterwards. Never rejects. */
  load(file: LoadableFile, placing: 'shared' | 'own', maxLoadMs: number): Promise<HostLoad>;
  unload(file: LoadableFile): void;
  /** Runs a call; its end never rejects. `beginWithinMs`: the host does not begin it later; null = whenever. */
  run(call: HostedCall, version: string, beginWithinMs: number | null): RunningCall;
  /** The calls that were sent and have not ended. */
  readonly calls: ReadonlySet<RunningCall>;
  /** Gives this call up: another host is to run it. What it still does here is not heard. */
  leave(call: RunningCall): void;
  /** Aborts the signal of a call. */
  abort(call: RunningCall, reason: 'TimeoutError' | 'AbortError'): void;
  ping(): void;
  /** When something was heard of it last, on the monotonic clock. */
  readonly heardAt: number;
  /** Ends the whole process group at once. */
  kill(reason: KillReason): void;
  readonly ended: Promise<Death>;
  readonly isEnding: boolean;
  /** Whether its state can be trusted no more: a call changed it, or something was thrown behind its back. */
  readonly isUnusable: boolean;
  /** Whose call made it so; null where that is not known. */
  readonly culprit: HostedTool | null;
  /** What goes on in it although no call runs, so that no other file may run there; null where nothing does. */
  readonly pendingWork: PendingWork | null;
  /** How many calls it has answered. */
  readonly answered: number;
  /** To be called when it becomes spent, restless or quiet. */
  onState(listener: () => void): void;
};
