import type * as api from './api.ts';

/** One call of a tool: what it shows before its result, the newest part last, and its answer; null until there is one. */
export type Attempt = { progress: string; parts: readonly string[]; answer: api.Answer<api.CallsAnswer> | null };

/** What was typed for one tool, and the last call that was made of it. */
export type Draft = { text: string; attempt: Attempt | null };

/** What is sent with a call, as it was typed. */
export type CallOptions = { readonly sessionId: string; readonly idempotencyKey: string; readonly timeoutMs: string };

/** Whether a call needs no question first: only what is known to do no harm twice, and not whatever is not called `write`. */
export const isHarmless = ({ effects }: api.ToolDescription): boolean => effects === 'read' || effects === 'idempotent';

/** The request id of an attempt whose call is pending, or null. */
export const findPending = ({ answer }: Attempt): string | null =>
  answer?.trouble === null && answer.body.results[0]?.outcome === 'pending' ? answer.body.request_id : null;

/** `check`: says what would come of the call, and runs nothing. */
type CallKind = 'plain' | 'background' | 'check';

/** Whether a check says that the call would run, or wait for an approval. */
export const mayRun = (answer: api.Answer<api.CallsAnswer>): boolean => {
  const [result] = answer.trouble === null ? answer.body.results : [];
  return result?.outcome === 'checked' && ['run', 'ask', 'replay'].includes(result.dry_run.would);
};

// The arguments go as the text that was typed, as models send them: nothing is rounded, and what is no JSON gets the
// answer that a model would get.
export const callRequest = (name: string, text: string, options: CallOptions, kind: CallKind): api.Request => {
  const { sessionId, idempotencyKey, timeoutMs } = options;
  const typed = timeoutMs.trim();
  const timeout = typed !== '' && { timeout_ms: Number.isFinite(Number(typed)) ? Number(typed) : typed };
  const call = { id: 'console', name, arguments: text, ...timeout };
  return {
    path: 'tool-calls',
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(idempotencyKey !== '' && { 'idempotency-key': idempotencyKey }),
      // A call that ends within a second is answered as any other.
      ...(kind === 'background' && { prefer: 'respond-async, wait=1' }),
    },
    body: JSON.stringify({
      ...(sessionId !== '' && { session_id: sessionId }),
      ...(kind === 'check' && { dry_run: true }),
      calls: [call],
    }),
  };
};

// What a person reads while a call runs; of more the newest are shown, and of each its beginning.
const MAX_PARTS = 100;
const MAX_CHARACTERS = 2_000;

export const addShown = (attempt: Attempt, { event, data }: api.StreamEvent): void => {
  if (event === 'progress') {
    const { done, total, message } = data.progress;
    const count = total === null ? `${done}` : `${done} of ${total}`;
    attempt.progress = message === null ? count : `${count} · ${message}`;
  }
  if (event !== 'part') return;
  const text = typeof data.value === 'string' ? data.value : JSON.stringify(data.value);
  const part = text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text;
  attempt.parts = [...attempt.parts, part].slice(-MAX_PARTS);
};
