import type { RenderedResult } from '../contract/tool-result.ts';
import type { Tool, ToolProgress } from '../tools/tool.ts';
import type { BatchTrace } from './call-observer.ts';
import type { Client } from './deadline.ts';
import type { AsyncTerms, ResumedCall } from './pending-calls.ts';

/** What a caller's Idempotency-Key stands for. */
export type IdempotencyKey = {
  /** As the caller chose it: what tools hand on to their upstream; null: it chose none, and its request id stands for it. */
  readonly key: string | null;
  /** Opaque key of tenant and key. */
  readonly recordKey: string;
  /** Opaque key of tenant and request id: under it the answer can be asked for again. */
  readonly requestKey: string;
};

/** Makes the key of a record of the id of a call; null: there is no session that the id could belong to. */
export type CallKeyOf = (callId: string) => string | null;

/** Where the bytes of a batch are taken from. False: nothing is taken, the service has no room. */
export type BatchMemory = {
  /** For the value of a call that has ended, in bytes of JSON. */
  readonly take: (bytes: number) => boolean;
  readonly give: (bytes: number) => void;
  /** For arguments that came as a text and are parsed now, in bytes of the heap. */
  readonly takeArguments: (bytes: number) => boolean;
  /** All is kept until the batch is done: its answer does not come at once, and its client may go before. */
  readonly keepUntil: <Value>(work: Promise<Value>) => Promise<Value>;
  /** The arguments stay in memory until the handler of a call that is answered has ended. `handlerEnd` never rejects. */
  readonly keepArgumentsUntil: (handlerEnd: Promise<unknown>) => void;
};

/** What the calls were parsed from. */
export type BatchBody = {
  /** The text; "" once the executor has read a long one and let go of it. */
  source: string;
};

/** Who watches a batch run, each call named by its index. What it leaves out it is not told. It must not throw. */
export type BatchListener = {
  /** Told once, before the first call begins, of a batch that runs: not of one whose Idempotency-Key is refused or replayed. */
  readonly accepted?: (calls: readonly AcceptedCall[]) => void;
  /**
   * The result of a call, as the answer will have it, as soon as nothing can change it any more: told once of each call of a
   * batch that runs, in the order in which that comes to be. Of a replay it is not told: all its results are in the answer.
   */
  readonly result?: (index: number, result: RenderedResult) => void;
  readonly progress?: (index: number, update: ToolProgress) => void;
  /** A call is a pending one, of this handle. It does not begin before this resolves, or 250 ms have passed. */
  readonly pending?: (index: number, handle: string) => Promise<void>;
  /** What a handler that runs with its batch shows to people before its result, as JSON text without secrets. */
  readonly part?: (index: number, valueJson: string) => void;
};

/** What a result is known by before it is there. */
export type AcceptedCall = {
  readonly index: number;
  readonly id: string | number | null;
  readonly name: string | null;
};

/** What is meant by a call that was not written for this service. The call itself stays as it was sent. */
export type CallReading = {
  /** The tool of that name, or else the one that providers know by it. */
  readonly findTool: (name: string) => Tool | undefined;
  /** The arguments of a call as this service's own callers write them. */
  readonly readArguments: (call: object, tool: Tool) => unknown;
};

/** An accepted batch, from whoever accepted it. Times in milliseconds. */
export type BatchRequest = {
  readonly requestId: string;
  /** Unique to this batch; the request id may be the caller's and come twice. */
  readonly batchId: string;
  readonly tenant: string;
  /** Who of the tenant sent it: the name of its key. For the log. */
  readonly key: string | null;
  /** SHA-256 of the API key it came with, 64 hex digits; undefined: it came without one. For pending calls. */
  readonly keyHash?: string | undefined;
  /** Between whom the slots of the service are shared: the tenant, or the address of whoever is anonymous. */
  readonly caller: string;
  /** Who of the tenant sent it, for tools: opaque, the same in every replica. null or left out: anonymous, without a tenant. */
  readonly callerId?: string | null;
  readonly mayUse: (tool: string) => boolean;
  /** Opaque key of tenant and session; null without a session. */
  readonly sessionKey: string | null;
  readonly roundId: string | null;
  /** `untold`: results say nothing of retries that are left, for no later batch would find them counted. Left out: `told`. */
  readonly retries?: 'told' | 'untold';
  /** As they were asked for: what an Idempotency-Key stands for, and what the results are named by. */
  readonly calls: readonly unknown[];
  /** What is meant by their names and arguments; null where they are taken as they stand. */
  readonly reading: CallReading | null;
  readonly body: BatchBody;
  /** Whether the calls stand in that text as they are here, in its member `calls`, or in a message of another form. */
  readonly form: 'calls' | 'message';
  readonly order: 'parallel' | 'sequential';
  readonly onError: 'continue' | 'stop';
  readonly deadlineMs: number;
  readonly idempotency: IdempotencyKey | null;
  /** Each write has a record of its own, by its id. null or left out: ids are no keys. */
  readonly callKeyOf?: CallKeyOf | null;
  /** Where its results are kept if it has no key and joins a pending call. Left out: nowhere. */
  readonly pendingRecord?: () => IdempotencyKey;
  readonly client: Client;
  /** null: each call is answered by how it ended. */
  readonly async?: AsyncTerms | null;
  /** Left out: a batch of calls that were just sent. */
  readonly resumed?: ResumedCall;
  /** Where its memory is taken from; null where nothing bounds it. */
  readonly memory: BatchMemory | null;
  /** Who watches it run; null where nobody does. */
  readonly listener: BatchListener | null;
  /** The id of the trace it belongs to, 32 hex digits; null without one. */
  readonly traceId: string | null;
  /** null where nothing is traced. */
  readonly trace: BatchTrace | null;
};

/** One result per call, in the order of the calls; or why a batch with an Idempotency-Key is not taken. */
export type BatchAnswer =
  | {
      readonly kind: 'results';
      readonly results: readonly RenderedResult[];
      readonly origin: 'run' | 'replayed';
      /** Only where calls may go on after the answer: whether any does. */
      readonly status?: 'pending' | 'done';
      /** Where there is a status: whether the results are found under the request id. */
      readonly isFound?: boolean;
    }
  | { readonly kind: 'in_flight'; readonly retryAfterMs: number }
  | { readonly kind: 'other_body' };

/** One result per call, in the order of the calls; at once where nothing waits. Never throws or rejects. */
export type ExecuteBatch = (request: BatchRequest) => BatchAnswer | Promise<BatchAnswer>;
