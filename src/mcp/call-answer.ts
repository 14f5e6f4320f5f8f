import type { BatchAnswer } from '../executor/batch-request.ts';
import { requireRoomForReplay } from '../routes/answer-hold.ts';
import type { Exchange } from './exchange.ts';
import { type RpcError, SERVER_ERROR } from './rpc-errors.ts';

/** What came of a call: its result as JSON text, or why its Idempotency-Key was not taken. */
export type CallAnswer =
  | { readonly kind: 'result'; readonly json: string; readonly origin: 'run' | 'replayed' }
  | { readonly kind: 'error'; readonly error: RpcError };

/** As POST /tool-calls answers 422 and 409: about the key, and not what came of a call. */
export const toCallAnswer = (answer: BatchAnswer, { hold }: Exchange): CallAnswer => {
  if (answer.kind === 'results') {
    const { results, origin } = answer;
    if (origin === 'replayed') requireRoomForReplay({ hold }, results, 'messages');
    return { kind: 'result', json: results[0] ?? 'null', origin };
  }
  if (answer.kind === 'other_body') return { kind: 'error', error: KEY_REUSED };
  const data = { code: 'idempotency_key_in_flight', retry_after_ms: answer.retryAfterMs };
  return { kind: 'error', error: { code: SERVER_ERROR, message: IN_FLIGHT, data } };
};

const IN_FLIGHT =
  'A call with this idempotency key is still running. Nothing has run now; ask again after retry_after_ms.';

const KEY_REUSED: RpcError = {
  code: -32_602,
  message: 'This idempotency key came with another call before. Nothing has run; use a new key for a new call.',
  data: { code: 'idempotency_key_reused' },
};
