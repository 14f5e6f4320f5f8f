import type { Tool } from '../tools/tool.ts';
import type { CallOutcome } from './call-outcome.ts';
import type { CallSpec, PendingState } from './pending-calls.ts';
import type { Ruling } from './policies.ts';

/** Who sent a call, and with which others, as its batch says it. */
type Sender = {
  readonly request: {
    readonly requestId: string;
    readonly tenant: string;
    readonly key: string | null;
    readonly callerId?: string | null;
    readonly sessionKey: string | null;
    readonly resumed?: { readonly spec: Pick<CallSpec, 'index' | 'approval'> };
  };
};

/** A call as it is written down. */
export type AuditedCall = {
  readonly batch: Sender;
  readonly index: number;
  readonly id: string | number | null;
  readonly tool: Tool | null;
  /** The tool's own name, where the tool is known and cannot be called. */
  readonly missingTool: string | null;
  /** Its arguments; null where they cannot be read, or no tool was to get them. */
  readonly input: Readonly<Record<string, unknown>> | null;
  readonly state: { readonly kind: string; readonly state?: PendingState };
  readonly outcome: CallOutcome | null;
  /** A result that was made before; null: there is none. */
  readonly storedResult: string | null;
  readonly handle: string | null;
  readonly effectId: string | null;
  readonly ruling: Pick<Ruling, 'asked' | 'decided'> | null;
  readonly durationMs: number;
};

/** Writes down what became of calls, for people who have to answer for them. Nothing here throws. */
export type Audit = {
  /** A call has its answer, or was accepted as one that goes on after it: told once of each call of a batch. */
  readonly called: (call: AuditedCall) => void;
  /** What a handler came to after its call was answered without it; redacted. */
  readonly endedLate: (call: AuditedCall, end: CallOutcome) => void;
  /** Whether no write may begin now, because nothing could be written down of it. */
  readonly refusesWrites: () => boolean;
};
