import type { AnswerMemory, BatchRequest } from '../executor/batch-request.ts';
import type { AnswerHold } from '../routes/answer-hold.ts';

/** One request of a client to the door, after the gate, and what the calls in it have in common. */
export type Exchange = {
  readonly requestId: string;
  readonly tenant: string;
  readonly key: string | null;
  /** Between whom the slots of the service are shared. */
  readonly caller: string;
  readonly mayUse: (tool: string) => boolean;
  /** What its `Mcp-Session-Id` says; null without one. */
  readonly sessionId: string | null;
  /** The text of the body. */
  readonly source: string;
  /** Arguments that are no object, by the id of their JSON-RPC request: the executor judges them, not the SDK. */
  readonly argumentsAside: ReadonlyMap<unknown, unknown>;
  /** What the request takes of the memory for answers. */
  readonly hold: AnswerHold | null;
  readonly memory: AnswerMemory | null;
  /** The tools of `tools/list` as JSON text, where that was asked for: they stand in the answer in place of none. */
  catalogue: string | null;
  /** Aborted when nobody waits for the answer any more. */
  readonly ending: AbortController;
  /** `session` is the opaque key of the session a call belongs to. */
  readonly toTrace: (session: string | null) => Pick<BatchRequest, 'trace' | 'traceId'>;
};
