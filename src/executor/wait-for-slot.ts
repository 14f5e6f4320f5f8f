import type { Tool } from '../tools/tool.ts';
import { type RanCall, unstarted } from './call-end.ts';
import { poolOf } from './call-observer.ts';
import { type Failure, toFailure } from './failure.ts';
import * as text from './failure-text.ts';
import { toNotStarted } from './find-obstacle.ts';
import type { ReadyCall } from './resolve-call.ts';
import type { CallSettings, RunningBatch } from './running-batch.ts';

/** Ends with the call's run, or without one: at the end of the batch, or when the slots have dropped it. */
export const waitForSlot = (
  call: ReadyCall,
  batch: RunningBatch,
  settings: CallSettings,
  { askedAt, run }: { readonly askedAt: number; readonly run: () => RanCall | Promise<RanCall> },
): Promise<RanCall> =>
  new Promise((resolve) => {
    const { tool } = call;
    const { slots, observer } = settings;
    observer.callQueued(poolOf(tool));
    const settle = (ran: RanCall | Promise<RanCall>): void => {
      unsubscribe();
      observer.callUnqueued(poolOf(tool));
      resolve(ran);
    };
    const unsubscribe = batch.end.onEnd((cause) => {
      stopWaiting();
      settle(unstarted(cause === 'deadline' ? toOverloaded(text.OVERLOADED_TEXT, tool) : toNotStarted(cause)));
    });
    const stopWaiting = slots.wait({
      tool,
      caller: batch.caller,
      endsAt: askedAt + batch.end.remainingAt(askedAt),
      timeoutMs: call.timeoutMs,
      // Not here and now: whoever gave the slot back must not run, or pay for, somebody else's handler.
      taken: () =>
        settle(
          Promise.resolve().then(() =>
            batch.isDraining() ? giveUpSlots(call, batch, settings, toNotStarted('shutdown')) : run(),
          ),
        ),
      dropped: ({ reason, retryAfterMs }) => {
        observer.shed(reason);
        settle(unstarted(toOverloaded(text.dropText(reason), tool, retryAfterMs)));
      },
    });
  });

const toOverloaded = (message: string, tool: Tool, retryAfterMs: number | null = null): Failure =>
  toFailure('overloaded', message, tool, { retryAfterMs });

/** Gives back the slot of a call that does not run after all. */
export const giveUpSlots = (
  { tool }: ReadyCall,
  { caller }: RunningBatch,
  { slots }: CallSettings,
  failure: Failure,
): RanCall => {
  slots.answered(caller);
  slots.ended(tool);
  return unstarted(failure);
};
