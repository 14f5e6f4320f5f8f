import type { Call } from 'recourse-server/executor/call';

/** How a result says that the record of its call is gone: nobody knows how the call ended. */
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

/** Under which place, id and name a result is answered. */
type ResultHead = Pick<Call, 'index' | 'id' | 'name'>;

const NO_HEAD: ResultHead = { index: 0, id: null, name: null };

/** The whole result of such a call, as JSON text. */
export const renderLost = ({ index, id, name }: ResultHead = NO_HEAD): string =>
  JSON.stringify({ index, id, name, success: false, value: null, ...LOST_END, retry: null, duration_ms: 0 });

/**
 * The result of a call whose record must not be acted on, as JSON text: it was damaged, or written by something else. What the call
 * was named may be unknown; who asks for it by its batch knows.
 */
export const renderUnbelieved = (begins: number, { index, id, name }: ResultHead = NO_HEAD): string => {
  const end = begins > 0 ? UNBELIEVED_BEGUN : UNBELIEVED;
  return JSON.stringify({ index, id, name, success: false, value: null, ...end, retry: null, duration_ms: 0 });
};

const NOT_BELIEVED = 'The stored record of this call was changed by something other than the service';

const UNBELIEVED_BEGUN = {
  ...LOST_END,
  message: `${NOT_BELIEVED} after it began. It may or may not have taken effect. Check before calling it again.`,
} as const;

const UNBELIEVED = {
  outcome: 'retry',
  executed: 'no',
  message: `${NOT_BELIEVED}, so it did not run. Call it again.`,
  error: { ...LOST_END.error, code: 'cancelled', type: 'cancelled' },
} as const;
