import { setTimeout } from 'node:timers/promises';
import { firstCharacters } from 'recourse-server/contract/tool-call';
import { type IdempotencyStore, toWhole } from 'recourse-server/executor/idempotency-store';
import type { CallSpec } from 'recourse-server/executor/pending-calls';
import { readHandle, readStoredResult } from 'recourse-server/executor/stored-result';
import { handleOfSpec } from './pending-service.ts';
import type { WebhookEvent, Webhooks } from './webhooks/webhooks.ts';

type NotificationParts = {
  readonly webhooks: Pick<Webhooks, 'emit'>;
  /** The results of a batch as they were answered. */
  readonly keys: Pick<IdempotencyStore, 'find'>;
  readonly isEnded: (tenant: string, handle: string) => Promise<boolean>;
  readonly onFailed: (error: unknown) => void;
  /** Default: a second. */
  readonly lookAgainMs?: number;
};

// Between the rendering of an answer and the keeping of it a call may end that the answer calls pending.
const LOOK_AGAIN_MS = 1000;
// Six seconds together: an answer waits that long for a store that is away.
const MOST_LOOKS = 3;

/** Tells the webhook endpoint that a batch has named of its calls: that each goes on, how each ended, and that all have. */
export const createNotifications = (parts: NotificationParts) => {
  const { webhooks, keys, isEnded, onFailed, lookAgainMs = LOOK_AGAIN_MS } = parts;
  const emit = async (spec: CallSpec, event: Pick<WebhookEvent, 'type' | 'data' | 'once'>): Promise<void> => {
    if (spec.notify !== null) await webhooks.emit({ tenant: spec.tenant, endpoint: spec.notify, ...event });
  };
  const findAnswered = async (spec: CallSpec): Promise<readonly string[]> => {
    const found = await keys.find(spec.requestKey);
    return found === null || found === 'unavailable' ? [] : (toWhole(found) ?? []);
  };
  const tellIfAllEnded = async (spec: CallSpec): Promise<void> => {
    let answered = await findAnswered(spec);
    for (let looks = 1; answered.length === 0 && looks <= MOST_LOOKS; looks += 1) {
      await setTimeout(looks * lookAgainMs, null, { ref: false });
      answered = await findAnswered(spec);
    }
    const handles = answered.map(readHandle).filter((handle) => handle !== null);
    // Not answered, or answered with all ends: the caller has them.
    if (handles.length === 0) return;
    const ended = await Promise.all(handles.map((handle) => isEnded(spec.tenant, handle)));
    // Calls that end at once see both that all have ended: the first emits it.
    if (ended.every(Boolean))
      await emit(spec, {
        type: 'tool_calls.completed',
        data: { request_id: spec.requestId },
        once: spec.requestKey,
      });
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

// What a receiver gets of an id: a message is kept until it is delivered, and one id may have 16 KiB.
const MAX_CALL_ID = 512;

const toData = (spec: CallSpec): WebhookEvent['data'] => ({
  request_id: spec.requestId,
  index: spec.index,
  call: handleOfSpec(spec),
  call_id: typeof spec.id === 'string' ? firstCharacters(spec.id, MAX_CALL_ID) : spec.id,
  tool: spec.tool,
});

/** How a call ended, as its result says. */
const readEnd = (
  result: string,
): { readonly outcome: string; readonly executed: string; readonly code: string | null } => {
  const kept = readStoredResult(result);
  return { outcome: kept?.outcome ?? 'unknown', executed: kept?.executed ?? 'maybe', code: kept?.error?.code ?? null };
};
