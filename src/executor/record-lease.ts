import type { Warning } from '../contract/tool-result.ts';
import { type Batch, type Call, isReady, type ReadyCall } from './call.ts';
import type { CallOutcome } from './call-outcome.ts';
import type { HeldRecord, RecordLease, ResultToKeep } from './keyed-store.ts';
import { renameResult } from './restore-earlier.ts';

export const NOT_DURABLE: Warning = {
  code: 'idempotency_not_durable',
  message: 'The key is stored only in this process and is lost when it ends.',
};
export const NOT_RECORDED: Warning = {
  code: 'idempotency_not_recorded',
  message: 'The results may not have been stored under their key: a repeat may not return this answer.',
};

/** What a store answers that is given a second; the other where the batch has less. */
export const byDeadline = <Answer, Late>(
  { cancellation }: Batch,
  answer: Promise<Answer>,
  late: Late,
): Promise<Answer | Late> =>
  new Promise((resolve, reject) => {
    const stop = cancellation.onCancel((cause) => {
      if (cause === 'deadline') resolve(late);
    });
    answer.finally(stop).then(resolve, reject);
  });

// What the answer of a batch waits for its stores beyond the deadline, all in all: as long as one answer of a store may take.
const BEYOND_DEADLINE_MS = 1000;
// Where settling the session took all of that: a store that serves answers within it.
const LEAST_MS = 50;
// All steps of a record take less: where there is more time, no timer is needed.
const MOST_MS = 5000;

/**
 * What a store answers before the answer of the batch is a second late; the other where it does not. What it was asked for goes on. A
 * resumed call has no caller who waits.
 */
export const soonAfterDeadline = <Answer, Late>(
  { cancellation, services, request }: Batch,
  answer: Promise<Answer>,
  late: Late,
): Promise<Answer | Late> => {
  const leftMs = Math.max(LEAST_MS, cancellation.endsAt + BEYOND_DEADLINE_MS - services.now());
  if (leftMs > MOST_MS || request.resumed !== undefined) return answer;
  return new Promise((resolve, reject) => {
    const stop = cancellation.startTimer(() => resolve(late), leftMs);
    answer.finally(stop).then(resolve, reject);
  });
};

/** That of a batch whose record cannot be asked for. */
export const AWAY: RecordLease = {
  state: 'away',
  start: async () => 'away',
  finish: async () => 'away',
  amend: async () => undefined,
  letGo: () => undefined,
};

const away = (): 'away' => 'away';

// A third of the lease: two renewals may get lost.
const RENEW_EVERY_MS = 1500;

// As long as an outage may last that a sweep of pending calls bridges as well.
const INSIST_TRIES = 120;
const INSIST_PAUSE_MS = 250;

/** Asks a store that may be away until it has answered, for half a minute at most. */
const insist = async <State>(ask: () => Promise<State>): Promise<State> => {
  let state = await ask();
  for (let tries = 1; tries < INSIST_TRIES && state === 'away'; tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, INSIST_PAUSE_MS).unref());
    state = await ask();
  }
  return state;
};

/** Holds the record of these calls until its batch lets go of it: the first call has the first place in it. */
export const holdRecord = (record: HeldRecord, batch: Batch, calls: readonly Call[]): RecordLease => {
  // A renewal that fails is not the last word: the next may not, and `start` and `finish` ask the record themselves.
  const timer = setInterval(() => void record.renew().catch(away), RENEW_EVERY_MS);
  timer.unref();
  let isFinished = false;
  // Calls that do not run because no answer said that they are marked: they may be.
  const unsure = new Set<number>();
  // By their tools' own names, whatever those were called by: rights go by the tool, also when it has gone and what another
  // name stood for cannot be found out any more.
  const toStored = (index: number, result: string): string => {
    const call = calls[index];
    return call !== undefined && isAlias(call) ? renameResult(result, call.tool.name) : result;
  };
  return {
    state: 'held',
    start: async (index) => {
      const state = await byDeadline(batch, record.start(index).catch(away), away());
      if (state === 'away') unsure.add(index);
      return state;
    },
    finish: (results) => {
      isFinished = true;
      const stored = results.map((one) => ({ ...one, result: toStored(one.index, one.result) }));
      const marked = stored.filter(({ index, kind }) => kind === 'repeatable' && unsure.delete(index));
      const answer = batch.hasAccepted || batch.async !== null ? 'named' : undefined;
      const committed = record.commit(stored, answer).catch(away);
      // Marks of calls that never ran: their key would be told that nobody knows how they ended.
      if (marked.length > 0)
        void committed.then((state) => void (state === 'away' && insist(() => record.commit(marked).catch(away))));
      // Where nothing ran, nothing is lost with an answer that comes too late: the caller need not wait for it.
      return stored.every(({ kind }) => kind === 'repeatable') ? byDeadline(batch, committed, 'held') : committed;
    },
    letGo: () => {
      clearInterval(timer);
      // Others need not wait for its lease to end; marks of writes that began stay.
      if (!isFinished) void record.commit([]).catch(away);
    },
    amend: (index, result) => record.amend(index, toStored(index, result)).catch(() => undefined),
  };
};

const isAlias = (call: Call): call is ReadyCall => isReady(call) && call.name !== call.tool.name;

// What was accepted runs whatever is answered, so its answer waits for a store that is back soon.
const FINISH_WITHIN_MS = 5000;

/** Keeps the results in a record; of a batch with pending calls also where its store is away: after a few seconds once it is answered. */
export const finishRecord = (
  batch: Batch,
  record: RecordLease,
  results: readonly ResultToKeep[],
): ReturnType<RecordLease['finish']> => {
  if (!batch.hasAccepted) return soonAfterDeadline(batch, record.finish(results), away());
  const late = new Promise<'away'>((resolve) => setTimeout(resolve, FINISH_WITHIN_MS, 'away').unref());
  return Promise.race([insist(() => record.finish(results)), late]);
};

const NEVER_RAN: ReadonlySet<string> = new Set([
  'overloaded',
  'shutting_down',
  'store_unavailable',
  'circuit_open',
  'call_limit_exceeded',
  'tool_unavailable',
  'cancelled',
  'tool_crashed',
]);

/** Whether the same key may run the call again: it never ran, and not by its own fault, or is safe and was cut off. */
export const isRepeatable = (ended: CallOutcome): boolean => {
  if (ended.kind === 'success') return false;
  const { code, executed, outcome } = ended.failure;
  return (executed === 'no' && NEVER_RAN.has(code)) || (code === 'cancelled' && outcome === 'retry');
};
