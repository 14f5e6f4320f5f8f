import { hash } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { readEnd, readHandle } from '../executor/kept-result.ts';
import type { KeyedStore } from '../executor/keyed-store.ts';
import type { CallSpec } from '../executor/pending-calls.ts';
import { handleOfSpec } from '../pending/pending-service.ts';
import type { WebhookEvent, Webhooks } from '../webhooks/webhooks.ts';

type NotificationParts = {
  readonly webhooks: Pick<Webhooks, 'emit'>;
  /** The results of a batch as they were answered. */
  readonly keys: Pick<KeyedStore, 'find'>;
  readonly isEnded: (tenant: string, handle: string) => Promise<boolean>;
  readonly onFailed: (error: unknown) => void;
};

/** Tells the webhook endpoint that a batch has named of its calls: that each goes on, how each ended, and that all have. */
export const createNotifications = ({ webhooks, keys, isEnded, onFailed }: NotificationParts) => {
  const emit = async (spec: CallSpec, event: Pick<WebhookEvent, 'type' | 'data' | 'id'>): Promise<void> => {
    if (spec.notify !== null) await webhooks.emit({ tenant: spec.tenant, endpoint: spec.notify, ...event });
  };
  /** The calls of a batch that were answered as pending. */
  const findAnswered = async ({ requestKey }: CallSpec): Promise<readonly string[]> => {
    for (const waitMs of ANSWERED_WITHIN_MS) {
      const answered = await keys.find(requestKey);
      if (Array.isArray(answered)) return answered.map(readHandle).filter((handle) => handle !== null);
      await setTimeout(waitMs, null, { ref: false });
    }
    return [];
  };
  const tellIfAllEnded = async (spec: CallSpec): Promise<void> => {
    const handles = await findAnswered(spec);
    // Whoever sent the batch got all results with its answer.
    if (handles.length === 0) return;
    const ended = await Promise.all(handles.map((handle) => isEnded(spec.tenant, handle)));
    if (!ended.every(Boolean)) return;
    // Calls that end together all find that it is over.
    const id = hash('sha256', spec.requestKey).slice(0, ID_CHARACTERS).toUpperCase();
    await emit(spec, { type: 'tool_calls.completed', id, data: { request_id: spec.requestId } });
  };
  return {
    accepted: (spec: CallSpec): void => {
      if (spec.notify === null) return;
      void emit(spec, { type: 'tool_call.pending', data: { ...toData(spec), outcome: 'pending' } }).catch(onFailed);
    },
    ended: (spec: CallSpec, result: string): void => {
      if (spec.notify === null) return;
      const { outcome, executed, code } = readEnd(result);
      const data = { ...toData(spec), outcome, executed, code };
      void emit(spec, { type: 'tool_call.completed', data })
        .then(() => tellIfAllEnded(spec))
        .catch(onFailed);
    },
  };
};

// A call may end before its batch is answered, and its answer may have said that it is pending. One that waits longer waits
// for another call, whose end tells of the batch.
const ANSWERED_WITHIN_MS = [20, 100, 500, 2000, 5000];
// As many as the ids of other messages have.
const ID_CHARACTERS = 26;

const toData = (spec: CallSpec): WebhookEvent['data'] => ({
  request_id: spec.requestId,
  index: spec.index,
  call: handleOfSpec(spec),
  call_id: spec.id,
  tool: spec.tool,
});
