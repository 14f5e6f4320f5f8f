import type { PendingCall, RenderedResult } from '../contract/tool-result.ts';
import { toJsonString } from '../json/json-text.ts';
import type { Call } from './call.ts';
import { toEndedResult } from './render-result.ts';
import { withMembers } from './stored-result.ts';

/** Under which place, id and name a result is answered. */
type ResultHead = Pick<Call, 'index' | 'id' | 'name'>;

/** The result of a pending call as its batch answers it: that of its end, or what it waits for. */
export const renderAccepted = (call: Call): RenderedResult => {
  const { state, index, id, name } = call;
  if (state.kind === 'pending' && state.state.kind === 'pending') {
    const isReplay = state.by === 'another_batch';
    return renderPending(call, state.state.pending, { isReplay, now: call.batch.services.time() });
  }
  if (state.kind !== 'ended') return call.result;
  // With the place, the id and the name of the call that joined it.
  return toEndedResult(
    state.by === 'this_batch' ? state.result : withMembers(state.result, { index, id, name, replayed: true }),
  );
};

/** The result of a call that has not ended. `now` in Unix milliseconds. */
export const renderPending = (
  { index, id, name }: ResultHead,
  pending: PendingCall,
  { isReplay, now }: { readonly isReplay: boolean; readonly now: number },
): RenderedResult => {
  const executed = pending.state === 'running' ? 'maybe' : 'no';
  const elapsedMs = Math.max(0, now - Date.parse(pending.since));
  const message = JSON.stringify(pendingText(name ?? '', pending, elapsedMs));
  const replayed = isReplay ? ',"replayed":true' : '';
  const json = `{"index":${index},"id":${typeof id === 'string' ? toJsonString(id) : id},"name":${
    name === null ? 'null' : toJsonString(name)
  },"success":false,"outcome":"pending","executed":"${executed}","value":null,"message":${message},"error":null,"retry":null,"pending":${JSON.stringify(
    pending,
  )},"duration_ms":${elapsedMs}${replayed}}`;
  return { json, handle: pending.call, plainValueJson: null };
};

/** What a model is told of a call that has not ended. */
export const pendingText = (
  name: string,
  { state, progress, mode, approval }: PendingCall,
  elapsedMs: number,
): string => {
  const reported = progress?.message ?? null;
  const sofar = reported === null ? '' : ` It reports: ${endSentence(reported)}`;
  const then =
    approval === null ? '' : ` It runs by itself once it is approved, which it may be until ${approval.expires_at}.`;
  const lost = mode === 'memory' ? ' Its result is lost if the service restarts.' : '';
  return `Tool '${name}' ${STATES[state]} (${toSeconds(elapsedMs)} so far).${then}${sofar} Do not call it again: continue with other work, or wait for its result.${lost}`;
};

const STATES = {
  queued: 'is queued and has not started',
  waiting_for_approval: "waits for a person's approval and has not started",
  running: 'is still running',
} as const satisfies Record<PendingCall['state'], string>;

const toSeconds = (ms: number): string => `${Math.round(ms / 1000)} s`;

const endSentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);
