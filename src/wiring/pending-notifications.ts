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
  const emit = async (spec: CallSpec, event: Pick<WebhookEvent, 'type' | 'data'>): Promise<void> => {
    if (spec.notify !== null) await webhooks.emit({ tenant: spec.tenant, endpoint: spec.notify, ...event });
  };
  const tellIfAllEnded = async (spec: CallSpec): Promise<void> => {
    const answered = await keys.find(spec.requestKey);
    // Not answered yet: whoever waits for the answer gets the results with it.
    if (!Array.isArray(answered)) return;
    const handles = answered.map(readHandle).filter((handle) => handle !== null);
    const ended = await Promise.all(handles.map((handle) => isEnded(spec.tenant, handle)));
    if (ended.every(Boolean)) await emit(spec, { type: 'tool_calls.completed', data: { request_id: spec.requestId } });
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

const toData = (spec: CallSpec): WebhookEvent['data'] => ({
  request_id: spec.requestId,
  index: spec.index,
  call: handleOfSpec(spec),
  call_id: spec.id,
  tool: spec.tool,
});
