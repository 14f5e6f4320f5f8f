import type { Warning } from '../contract/tool-result.ts';
import type { BatchRequest } from './batch-request.ts';
import { type Batch, type Call, isReady } from './call.ts';
import type { CallOutcome } from './call-outcome.ts';
import type { LeasedRecord, Opening, RecordLease, ResultToKeep } from './idempotency-store.ts';
import { withMembers, withWarning } from './stored-result.ts';

export const NOT_DURABLE: Warning = {
  code: 'idempotency_not_durable',
  message: 'The key is stored only in this process and is lost when it ends.',
};
export const NOT_RECORDED: Warning = {
  code: 'idempotency_not_recorded',
  message: 'The results may not have been stored under their key: a repeat may not return this answer.',
};

// What the answer of a batch waits for its stores beyond the deadline, all in all: as long as one answer of a store may take.
export const BEYOND_DEADLINE_MS = 1000;
// Where settling the session took all of that: a store that serves answers within it.
const LEAST_MS = 50;
// All steps of a record take less: where there is more time, no timer is needed.
const MOST_MS = 5000;

/**
 * What a store answers until the deadline of the batch, or `beyondMs` later; `late` where it does not. What it was asked for goes
 * on. A resumed call has no caller who waits.
 */
export const untilDeadline = <Answer, Late>(
  { cancellation, services, request }: Batch,
  answer: Promise<Answer>,
  late: Late,
  beyondMs = 0,
): Promise<Answer | Late> => {
  const leftMs = Math.max(beyondMs === 0 ? 0 : LEAST_MS, cancellation.endsAt + beyondMs - services.now());
  if (leftMs > MOST_MS || request.resumed !== undefined) return answer;
  return new Promise((resolve, reject) => {
    const stop = cancellation.startTimer(() => resolve(late), leftMs);
    answer.finally(stop).then(resolve, reject);
  });
};

/** Counts what a key was found to be. `joined`: what another request ran had to be waited for. */
export const observeOpening = ({ services }: Batch, opening: Opening, how: 'replayed' | 'joined'): void => {
  const uses = { unavailable: 'unavailable', in_flight: 'conflict', other_body: 'mismatch', complete: how } as const;
  if (opening.kind !== 'held') services.observer.keyUsed(uses[opening.kind]);
  else services.observer.keyUsed(opening.record.earlier.size === 0 ? 'new' : 'resumed');
};

/** That of a batch whose record cannot be asked for. */
export const AWAY: RecordLease = {
  state: 'away',
  start: async () => 'away',
  finish: async () => 'away',
  amend: async () => undefined,
  release: () => undefined,
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

/** Leases the record of these calls, which stand in a row in their batch, until the batch releases it. */
export const leaseRecord = (record: LeasedRecord, batch: Batch, calls: readonly Call[]): RecordLease => {
  // A renewal that fails is not the last word: the next may not, and `start` and `finish` ask the record themselves.
  const timer = setInterval(() => void record.renew().catch(away), RENEW_EVERY_MS);
  timer.unref();
  let isFinished = false;
  // Places of calls that do not run because no answer said that they are marked: they may be.
  const unsure = new Set<number>();
  const first = calls[0]?.index ?? 0;
  // By their tools' own names, whatever those were called by: rights go by the tool, also when it has gone and what another
  // name stood for cannot be found out any more.
  const toStored = (place: number, result: string): string => {
    const call = calls[place];
    const isAlias = call !== undefined && isReady(call) && call.name !== call.tool.name;
    return isAlias ? withMembers(result, { name: call.tool.name }) : result;
  };
  return {
    state: 'held',
    start: async (index) => {
      const state = await untilDeadline(batch, record.start(index - first).catch(away), away());
      if (state === 'away') unsure.add(index - first);
      return state;
    },
    finish: (results) => {
      isFinished = true;
      const stored = results.map(({ index, result, kind }) => {
        const place = index - first;
        return { index: place, result: toStored(place, result), kind };
      });
      const marked = stored.filter(({ index, kind }) => kind === 'repeatable' && unsure.delete(index));
      const answer = batch.hasAccepted || batch.async !== null ? 'named' : undefined;
      const committed = record.commit(stored, answer).catch(away);
      // Marks of calls that never ran: a repeat would be told that their outcome is unknown.
      if (marked.length > 0)
        void committed.then((state) => void (state === 'away' && insist(() => record.commit(marked).catch(away))));
      // Where nothing ran, nothing is lost with an answer that comes too late: the caller need not wait for it.
      return stored.every(({ kind }) => kind === 'repeatable') ? untilDeadline(batch, committed, 'held') : committed;
    },
    release: () => {
      clearInterval(timer);
      // Others need not wait for its lease to end; marks of writes that began stay.
      if (!isFinished) void record.commit([]).catch(away);
    },
    amend: (index, result) => record.amend(index - first, toStored(index - first, result)).catch(() => undefined),
  };
};

// What was accepted runs whatever is answered, so its answer waits for a store that is back soon.
const FINISH_WITHIN_MS = 5000;

/** Stores the results in a record; of a batch with pending calls also where its store is away: after a few seconds once it is answered. */
export const finishRecord = (
  batch: Batch,
  record: RecordLease,
  results: readonly ResultToKeep[],
): ReturnType<RecordLease['finish']> => {
  if (!batch.hasAccepted) return untilDeadline(batch, record.finish(results), away(), BEYOND_DEADLINE_MS);
  const late = new Promise<'away'>((resolve) => setTimeout(resolve, FINISH_WITHIN_MS, 'away').unref());
  return Promise.race([insist(() => record.finish(results)), late]);
};

/** Says something more on results that were rendered: for the rare case that it is known only then. */
export const warn = (calls: readonly Call[], warning: Warning): void => {
  for (const call of calls) {
    const { json, handle } = call.result;
    call.result = { json: withWarning(json, warning), handle, plainValueJson: null };
  }
};

/** How a result is kept under its key. */
export const toKind = (ended: CallOutcome | null, { resumed }: Pick<BatchRequest, 'resumed'>): ResultToKeep['kind'] => {
  // A pending call that did not take effect has ended: its caller decides whether it is made again.
  const hasEnded = resumed !== undefined && (ended?.reconciled !== undefined || isDecided(ended));
  if (isRepeatable(ended) && !hasEnded) return 'repeatable';
  return ended?.kind === 'failure' && ended.failure.outcome === 'unknown' ? 'unknown' : 'final';
};

/** What rules and people have said of a pending call is its end. */
const isDecided = (ended: CallOutcome | null): boolean => ended?.kind === 'failure' && DECIDED.has(ended.failure.code);

const DECIDED: ReadonlySet<string> = new Set([
  'rule_refused',
  'approval_required',
  'approval_denied',
  'approval_expired',
  'approval_stale',
]);

const NEVER_RAN: ReadonlySet<string> = new Set([
  ...DECIDED,
  'overloaded',
  'shutting_down',
  'store_unavailable',
  'circuit_open',
  'call_limit_exceeded',
  'tool_unavailable',
  'cancelled',
  'tool_crashed',
]);

/**
 * Whether the same key may run the call again: only where it never ran, and not by its own fault, or where it is safe
 * and was cut off because its caller had gone, who comes back with this key.
 */
export const isRepeatable = (ended: CallOutcome | null): boolean => {
  if (ended?.kind !== 'failure') return false;
  // A check has found that it did not take effect.
  if (ended.reconciled !== undefined) return true;
  const { code, executed, outcome } = ended.failure;
  return (executed === 'no' && NEVER_RAN.has(code)) || (code === 'cancelled' && outcome === 'retry');
};
