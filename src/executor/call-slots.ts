import type { Tool } from '../tools/tool.ts';

/** How a handler ended: `at_once`, it never gave way. */
export type SlotCallEnd = 'at_once' | 'by_itself' | 'cut_off';

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
  readonly acquired: () => void;
  readonly dropped: (drop: Drop) => void;
};

/**
 * What a call needs to run: a slot of the service, one of its tool and, where the tool is hosted, one of the hosts. The
 * service's is given back when the call is answered, so that handlers which never end cannot eat it; the others when
 * the handler really ends.
 */
export type CallSlots = {
  /** Takes the slots for a call now; false where one of them is not free. `moment`: now, where it is known. */
  readonly tryTake: (tool: Tool, caller: string, moment?: number) => boolean;
  /** Waits for the slots or is dropped, either of which may happen at once; gives the way to stop waiting. */
  readonly wait: (request: SlotRequest) => () => void;
  /** A call that was let in is not run after all; its slots are given back beside. */
  readonly gaveUp: (tool: Tool) => void;
  /** The handler that began `workMs` ago waits for something. */
  readonly gaveWay: (tool: Tool, workMs: number, moment: number) => void;
  /** How long a call took, so that no later one is begun in vain. */
  readonly learn: (tool: Tool, durationMs: number, ended: SlotCallEnd, moment?: number) => void;
  /** The call has its answer. Once for each that was taken. */
  readonly answered: (caller: string) => void;
  /** The handler has ended, and its host is free. Once for each that was taken. */
  readonly ended: (tool: Tool) => void;
};
