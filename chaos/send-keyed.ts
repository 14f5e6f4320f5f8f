import { setTimeout as pause } from 'node:timers/promises';
import type { Accounts } from './accounts.ts';
import { judgeAnswer, judgeRefusal } from './judge-answer.ts';
import { type Attempt, isAnswered, type KeyedBatch, type KeyRecord, toSeenResult } from './keyed-attempt.ts';
import type { Random } from './random.ts';
import type { Sender, Sent } from './sender.ts';

export type KeyedTerms = {
  readonly sender: Sender;
  readonly random: Random;
  readonly accounts: Accounts;
  /** All that was sent, to be judged at the end. */
  readonly records: KeyRecord[];
  /** Cuts pauses short; what is open is still brought to an end. */
  readonly signal: AbortSignal;
};

const PATIENCE_MS = 10_000;
const MAX_ATTEMPTS = 40;
/** Of answers that came: their client asks again, as if they had not. */
const AGAIN_SHARE = 0.35;
// What could not run without Redis is to be sent again later, says the answer.
const UNAVAILABLE_SHARE = 0.8;
const LATER_SHARE = 0.25;
const TWICE_SHARE = 0.25;
const PAUSE_MS = 150;
const LATER_MS = [3000, 15_000] as const;
// Before its time one asks in vain, and that must do no harm either.
const EARLY_SHARE = 0.3;

/** Sends a keyed batch until it is answered, and often again after that: now, much later, twice at once. */
export const sendKeyed = async (batch: KeyedBatch, terms: KeyedTerms): Promise<void> => {
  const { random, accounts, records } = terms;
  const record: KeyRecord = { batch, attempts: [] };
  records.push(record);
  accounts.add('keyed batches');
  for (let round = 1; round <= MAX_ATTEMPTS; round += 1) {
    const wait = await sendOnceOrTwice(record, round, terms);
    if (wait === 'answered' && !random.chance(isAnyUnavailable(record) ? UNAVAILABLE_SHARE : AGAIN_SHARE)) return;
    await restBefore(wait, terms);
  }
  if (!record.attempts.some(isAnswered))
    accounts.offend('lost_batch', `${batch.key}: no answer in ${MAX_ATTEMPTS} rounds`);
};

const isAnyUnavailable = ({ attempts }: KeyRecord): boolean => {
  const end = attempts.at(-1)?.end;
  return end?.kind === 'answered' && end.results.some(({ code }) => code === 'store_unavailable');
};

const sendOnceOrTwice = async (record: KeyRecord, round: number, terms: KeyedTerms): Promise<'answered' | number> => {
  // The client leaves the first time only: it gets an answer in the end.
  const hangUpAfterMs = round === 1 ? record.batch.hangUpAfterMs : null;
  const times = round > 1 && terms.random.chance(TWICE_SHARE) ? 2 : 1;
  const waits = await Promise.all(Array.from({ length: times }, () => attempt(record, hangUpAfterMs, terms)));
  return waits.reduce((one, other) => (one === 'answered' || other === 'answered' ? 'answered' : Math.max(one, other)));
};

const restBefore = async (wait: 'answered' | number, { random, signal }: KeyedTerms): Promise<void> => {
  if (wait !== 'answered') return pause(random.chance(EARLY_SHARE) ? random.whole(0, wait) : wait);
  if (signal.aborted) return;
  const ms = random.chance(LATER_SHARE) ? random.whole(...LATER_MS) : random.whole(0, 300);
  await pause(ms, undefined, { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
};

// The lease of whoever held it last, and then some.
const MAX_CALM_ATTEMPTS = 12;

/** Asks once more, when all is whole again, until there is an answer; gives its request id. */
export const askAgain = async (record: KeyRecord, terms: KeyedTerms): Promise<string | null> => {
  for (let round = 1; round <= MAX_CALM_ATTEMPTS; round += 1) {
    const wait = await attempt(record, null, terms);
    if (wait === 'answered') return record.attempts.at(-1)?.requestId ?? null;
    await pause(wait);
  }
  terms.accounts.offend('lost_batch', `${record.batch.key}: no answer after the load`);
  return null;
};

/** Gives how long to wait before the next, in milliseconds. */
const attempt = async (
  { batch, attempts }: KeyRecord,
  hangUpAfterMs: number | null,
  terms: KeyedTerms,
): Promise<'answered' | number> => {
  const { connection, body, deadlineMs, key } = batch;
  const headers = { 'content-type': 'application/json', 'idempotency-key': key };
  const patienceMs = deadlineMs + PATIENCE_MS;
  const sent = await terms.sender.send({ body, headers, connection, hangUpAfterMs, patienceMs });
  const { requestId, sentAt, endedAt } = sent;
  const end = toEnd(sent, batch, terms.accounts);
  attempts.push({ requestId, sentAt, endedAt, end });
  terms.accounts.add(`keyed attempts ${end.kind}`);
  if (end.kind === 'answered') return 'answered';
  return end.kind === 'conflict' ? toWaitMs(sent) : PAUSE_MS;
};

const toWaitMs = ({ exchange }: Sent): number =>
  exchange.kind === 'answered' ? Number(exchange.retryAfter) * 1000 : PAUSE_MS;

// A keyed line has an account of its own.
const NO_LEDGER = { answered: () => undefined };

const toEnd = (sent: Sent, batch: KeyedBatch, accounts: Accounts): Attempt['end'] => {
  const { exchange, requestId, isReplicaKilled } = sent;
  if (exchange.kind === 'refused') return { kind: 'turned_away' };
  if (exchange.kind !== 'answered') {
    if (exchange.kind === 'silent' && !isReplicaKilled)
      accounts.offend('lost_batch', `${requestId}: the answer never came`);
    return { kind: 'lost' };
  }
  if (exchange.status === 200) {
    const results = judgeAnswer(exchange, batch, accounts, NO_LEDGER);
    return {
      kind: 'answered',
      results: results.map((result) => toSeenResult(result, batch.calls)),
      isReplayed: exchange.isReplayed,
    };
  }
  judgeRefusal(exchange, exchange.status === 409 ? 409 : null, accounts);
  if (exchange.status !== 409) return { kind: 'turned_away' };
  if (!/^[1-9]\d?$/.test(exchange.retryAfter ?? ''))
    accounts.offend('keyed_conflict', `${requestId}: Retry-After ${exchange.retryAfter}`);
  return { kind: 'conflict' };
};
