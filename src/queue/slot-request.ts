import type { Tool } from '../tools/tool.ts';

/** Why a call is not going to get a slot: too many wait, or its time would not be enough. */
export type DropReason = 'queue_full' | 'deadline';

export type Drop = { readonly reason: DropReason; readonly retryAfterMs: number };

/** A call that wants a slot. One of `taken` and `dropped` is called once, unless the call stops waiting before. */
export type SlotRequest = {
  readonly tool: Tool;
  /** Between whom slots are shared: a tenant, or an address. */
  readonly caller: string;
  /** The moment at which the batch's time is over. */
  readonly endsAt: number;
  /** The call's own time limit, in milliseconds. */
  readonly timeoutMs: number;
  readonly taken: () => void;
  readonly dropped: (drop: Drop) => void;
};
