import { setTimeout as pause } from 'node:timers/promises';
import type { Accounts } from './accounts.ts';
import type { Exchange } from './exchange.ts';
import { judgeAnswer, judgeRefusal } from './judge-answer.ts';
import type { Ledger } from './ledger.ts';
import { MALFORMED } from './malformed.ts';
import type { BatchPlans, PlannedBatch } from './plan-batch.ts';
import type { Random } from './random.ts';
import type { Sender, Sent } from './sender.ts';

/** Requests whose fate only the service's own log can tell: was the batch accepted all the same? */
export type Doubts = {
  /** Answered 503. */
  readonly unavailable: Set<string>;
  /** The connection ended before anything of an answer came. */
  readonly broken: Map<string, string>;
};

export type LoadTerms = {
  readonly sender: Sender;
  readonly plans: BatchPlans;
  readonly random: Random;
  readonly rate: number;
  readonly accounts: Accounts;
  readonly ledger: Ledger;
  readonly doubts: Doubts;
  /** Batches with an Idempotency-Key have a life of their own. Never rejects. */
  readonly sendKeyed: (batch: PlannedBatch & { readonly key: string }) => Promise<void>;
  readonly signal: AbortSignal;
};

const TICK_MS = 10;
// Open loop up to here: beyond it the load would only measure how it fills memory itself.
const MAX_OPEN = 500;
const MALFORMED_SHARE = 0.04;
const PATIENCE_MS = 10_000;
// Each meets the replica that is just being restarted with even chances.
const MAX_ATTEMPTS = 24;
const PAUSE_MS = 150;

/** Sends batches at the given rate until told to stop; resolves when the last one is answered. */
export const sendLoad = async (terms: LoadTerms): Promise<void> => {
  const { rate, accounts, signal } = terms;
  const open = new Set<Promise<void>>();
  const startedAt = performance.now();
  let due = 0;
  const begin = (): void => {
    if (open.size >= MAX_OPEN) {
      accounts.add('batches not sent: too many open');
      return;
    }
    const noted = sendNext(terms).finally(() => open.delete(noted));
    open.add(noted);
  };
  while (!signal.aborted) {
    for (const until = ((performance.now() - startedAt) / 1000) * rate; due < until; due += 1) begin();
    await pause(TICK_MS);
  }
  await Promise.all(open);
};

const sendNext = (terms: LoadTerms): Promise<void> => {
  if (terms.random.chance(MALFORMED_SHARE)) return sendMalformed(terms);
  const batch = terms.plans.next();
  const { key } = batch;
  return key === null ? sendBatch(terms, batch) : terms.sendKeyed({ ...batch, key });
};

const JSON_HEADERS = { 'content-type': 'application/json' } as const;

const sendBatch = async (terms: LoadTerms, batch: PlannedBatch): Promise<void> => {
  const { accounts, sender } = terms;
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const sending = { body: batch.body, headers: JSON_HEADERS, connection: batch.connection } as const;
    const patienceMs = batch.deadlineMs + PATIENCE_MS;
    const sent = await sender.send({ ...sending, hangUpAfterMs: batch.hangUpAfterMs, patienceMs });
    if (isEnd(sent)) {
      noteEnd(sent, batch, terms);
      return;
    }
    noteMiss(sent, terms);
    await pause(PAUSE_MS);
  }
  accounts.add('batches given up: no replica took them');
};

const isEnd = ({ exchange, isReplicaKilled }: Sent): boolean =>
  exchange.kind === 'hung_up' ||
  exchange.kind === 'silent' ||
  (exchange.kind === 'answered' && exchange.status !== 503) ||
  // Without a key nobody can ask again whether it has run.
  (exchange.kind === 'broken' && (exchange.received === 'a part' || isReplicaKilled));

const noteEnd = (sent: Sent, batch: PlannedBatch, { accounts, ledger }: LoadTerms): void => {
  const { exchange, requestId: id } = sent;
  if (exchange.kind === 'hung_up') accounts.add('batches left by their client');
  else if (sent.isReplicaKilled) accounts.add('batches lost with a killed replica');
  else if (exchange.kind === 'broken') accounts.offend('lost_batch', `${id}: the answer broke off: ${exchange.reason}`);
  else if (exchange.kind !== 'answered') accounts.offend('lost_batch', `${id}: the answer never came`);
  else if (exchange.status === 200) judgeAnswer(exchange, batch, accounts, ledger);
  else judgeRefusal(exchange, null, accounts);
};

/** A batch that this replica did not take: the next attempt may find the other one. */
const noteMiss = ({ exchange, requestId }: { exchange: Exchange; requestId: string }, terms: LoadTerms): void => {
  const { accounts, doubts } = terms;
  if (exchange.kind === 'answered') {
    judgeRefusal(exchange, null, accounts);
    doubts.unavailable.add(requestId);
  }
  if (exchange.kind === 'broken') doubts.broken.set(requestId, exchange.reason);
};

const sendMalformed = async ({ random, sender, accounts }: LoadTerms): Promise<void> => {
  const { body, headers, status } = random.pick(MALFORMED);
  const connection = random.pick(['kept', 'fresh'] as const);
  const sending = { body, headers, connection, hangUpAfterMs: null, patienceMs: PATIENCE_MS };
  const { exchange } = await sender.send(sending);
  if (exchange.kind === 'answered') judgeRefusal(exchange, status, accounts);
  accounts.add('malformed requests');
};
