import type { Batch } from '../executor/batch.ts';
import type { BatchGroup } from '../executor/batch-group.ts';

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
  /** Of several messages in one body, as revision 2025-03-26 has it; null for a single one. */
  readonly group: BatchGroup | null;
  /** Aborted when nobody waits for the answer any more. */
  readonly ending: AbortController;
  /** `session` is the opaque key of the session a call belongs to. */
  readonly toTrace: (session: string | null) => Pick<Batch, 'trace' | 'traceId'>;
};
