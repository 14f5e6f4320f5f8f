import type { Approval } from '../contract/tool-result.ts';

/** A pending call as a task tells it. */
export type PendingTask = {
  /** The tool that was called: who may not use it is told of no task. */
  readonly tool: string;
  readonly state: 'queued' | 'running' | 'ended';
  /** As a model is told of it while it has not ended, how far it is included. */
  readonly message: string;
  readonly pollAfterMs: number;
  /** By the store's clock, in ISO 8601. `updatedAt`: when this was the state. */
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly expiresAt: string;
  /** What a person has to approve before it starts; null: nothing, or that was decided. */
  readonly approval: Approval | null;
  /** JSON text of the result; null before the end. */
  readonly result: string | null;
};

/** The calls that outlive their requests. Both reject where the store fails. */
export type PendingTasks = {
  /** The state now, or at its end if that comes within `waitMs`, of the tenant's own calls alone; null: unknown. */
  readonly find: (tenant: string, handle: string, waitMs: number) => Promise<PendingTask | null>;
  /** Ends a call where that does no harm. `running`: it is told, or goes on because it writes. */
  readonly cancel: (tenant: string, handle: string) => Promise<'cancelled' | 'running' | 'ended' | 'unknown'>;
};
