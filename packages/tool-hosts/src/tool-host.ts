import type { CallOutcome } from 'recourse-server/executor/call-outcome';
import { type HostedTool, isSafe, type ToolFile, type ToolLog, type ToolProgress } from 'recourse-server/tools/tool';
import type { Death } from './classify-death.ts';
import type { BrokenLoad, FailedFile, LoadedFile } from './directory/load-tool-file.ts';
import type { CallTerms } from './host-messages.ts';

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
  | FailedFile
  | BrokenLoad
  /** Another file is not done in this host: nothing was loaded. */
  | { readonly kind: 'refused' };

/** What a call in a host needs. */
export type HostedCall = {
  readonly tool: HostedTool;
  readonly input: Readonly<Record<string, unknown>>;
  readonly terms: CallTerms;
  readonly log: () => ToolLog;
  readonly progress: (update: ToolProgress) => void;
  /** null: the caller does not watch its parts. */
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
