import type { Call } from 'recourse-server/executor/call';

/** How a result says that the record of its call is gone: it is unknown how the call ended. */
export const LOST_END = {
  outcome: 'unknown',
  executed: 'maybe',
  message:
    'The record of this call no longer exists. It may or may not have taken effect. Check before calling it again.',
  error: {
    code: 'outcome_unknown',
    type: 'outcome_unknown',
    hint: null,
    issues: [],
    retry_after_ms: null,
    fatal: false,
    reference: '',
  },
} as const;

/** The whole result of such a call, as JSON text, under the place, id and name that it was answered by. */
export const renderLostResult = (head?: Pick<Call, 'index' | 'id' | 'name'>): string => render(head, LOST_END);

const NOT_BELIEVED = 'The stored record of this call was changed by something other than the service';

/**
 * The result of a call whose record must not be acted on, as JSON text: it was damaged, or written by something else. What the call
 * was named may be unknown; a reader of its batch knows it.
 */
export const renderUnbelieved = (begins: number, head?: Pick<Call, 'index' | 'id' | 'name'>): string =>
  begins > 0
    ? render(head, {
        ...LOST_END,
        message: `${NOT_BELIEVED} after it began. It may or may not have taken effect. Check before calling it again.`,
      })
    : render(head, {
        outcome: 'retry',
        executed: 'no',
        message: `${NOT_BELIEVED}, so it did not run. Call it again.`,
        error: { ...LOST_END.error, code: 'cancelled', type: 'cancelled' },
      });

const render = (
  { index, id, name }: Pick<Call, 'index' | 'id' | 'name'> = { index: 0, id: null, name: null },
  end: object,
): string => JSON.stringify({ index, id, name, success: false, value: null, ...end, retry: null, duration_ms: 0 });
