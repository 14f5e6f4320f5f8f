import { setTimeout as pause } from 'node:timers/promises';
import type { Accounts } from './accounts.ts';
import type { Client, Exchange, Sending } from './exchange.ts';
import { judgeAnswer, judgeRefusal } from './judge-answer.ts';
import type { Ledger } from './ledger.ts';
import { MALFORMED } from './malformed.ts';
import type { BatchPlans, PlannedBatch } from './plan-batch.ts';
import type { Random } from './random.ts';

/** Requests whose fate only the service's own log can tell: was the batch accepted all the same? */
export type Doubts = {
  /** Answered 503. */
  readonly unavailable: Set<string>;
  /** The connection ended before anything of an answer came. */
  readonly broken: Map<string, string>;
};

export type LoadTerms = {
  readonly urls: readonly string[];
  readonly client: Client;
  readonly plans: BatchPlans;
  readonly random: Random;
  readonly rate: number;
  readonly accounts: Accounts;
  readonly ledger: Ledger;
  readonly doubts: Doubts;
  readonly signal: AbortSignal;
};

const TICK_MS = 10;
// Open loop up to here: beyond it the load would only measure how it fills memory itself.
const MAX_OPEN = 500;
const MALFORMED_SHARE = 0.04;
const PATIENCE_MS = 10_000;
const MAX_ATTEMPTS = 12;
const PAUSE_MS = 150;

/** Sends batches at the given rate until told to stop; resolves when the last one is answered. */
export const sendLoad = async (terms: LoadTerms): Promise<void> => {
  const { rate, random, accounts, signal } = terms;
  const open = new Set<Promise<void>>();
  const startedAt = performance.now();
  let due = 0;
  const begin = (): void => {
    if (open.size >= MAX_OPEN) {
      accounts.add('batches not sent: too many open');
      return;
    }
    const sending = random.chance(MALFORMED_SHARE) ? sendMalformed(terms) : sendBatch(terms, terms.plans.next());
    const noted = sending.finally(() => open.delete(noted));
    open.add(noted);
  };
  while (!signal.aborted) {
    for (const until = ((performance.now() - startedAt) / 1000) * rate; due < until; due += 1) begin();
    await pause(TICK_MS);
  }
  await Promise.all(open);
};

let requests = 0;
const nextRequestId = (): string => {
  requests += 1;
  return `chaos-${String(requests).padStart(12, '0')}`;
};

const JSON_HEADERS = { 'content-type': 'application/json' } as const;

const sendBatch = async (terms: LoadTerms, batch: PlannedBatch): Promise<void> => {
  const { accounts } = terms;
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const id = nextRequestId();
    const sending = { body: batch.body, headers: JSON_HEADERS, connection: batch.connection } as const;
    const patienceMs = batch.deadlineMs + PATIENCE_MS;
    const exchange = await send(terms, id, { ...sending, hangUpAfterMs: batch.hangUpAfterMs, patienceMs });
    if (isEnd(exchange)) {
      noteEnd(exchange, id, batch, terms);
      return;
    }
    noteMiss(exchange, id, terms);
    await pause(PAUSE_MS);
  }
  accounts.add('batches given up: no replica took them');
};

const isEnd = (exchange: Exchange): boolean =>
  exchange.kind === 'hung_up' ||
  exchange.kind === 'silent' ||
  (exchange.kind === 'answered' && exchange.status !== 503) ||
  (exchange.kind === 'broken' && exchange.received === 'a part');

const noteEnd = (exchange: Exchange, id: string, batch: PlannedBatch, { accounts, ledger }: LoadTerms): void => {
  if (exchange.kind === 'hung_up') accounts.add('batches left by their client');
  else if (exchange.kind === 'broken') accounts.offend('lost_batch', `${id}: the answer broke off: ${exchange.reason}`);
  else if (exchange.kind !== 'answered') accounts.offend('lost_batch', `${id}: the answer never came`);
  else if (exchange.status === 200) judgeAnswer(exchange, batch, accounts, ledger);
  else judgeRefusal(exchange, null, accounts);
};

/** A batch that this replica did not take: the next attempt may find the other one. */
const noteMiss = (exchange: Exchange, id: string, { accounts, doubts }: LoadTerms): void => {
  if (exchange.kind === 'answered') {
    judgeRefusal(exchange, null, accounts);
    doubts.unavailable.add(id);
  }
  if (exchange.kind === 'broken') doubts.broken.set(id, exchange.reason);
};

const sendMalformed = async (terms: LoadTerms): Promise<void> => {
  const { body, headers, status } = terms.random.pick(MALFORMED);
  const connection = terms.random.pick(['kept', 'fresh'] as const);
  const sending = { body, headers, connection, hangUpAfterMs: null, patienceMs: PATIENCE_MS };
  const exchange = await send(terms, nextRequestId(), sending);
  if (exchange.kind === 'answered') judgeRefusal(exchange, status, terms.accounts);
  terms.accounts.add('malformed requests');
};

const send = async (terms: LoadTerms, id: string, sending: Omit<Sending, 'url'>): Promise<Exchange> => {
  const { accounts, client, random, urls } = terms;
  const url = `${random.pick(urls)}/tool-calls`;
  const exchange = await client.exchange({ ...sending, url, headers: { ...sending.headers, 'x-request-id': id } });
  accounts.add('requests');
  accounts.add(exchange.kind === 'answered' ? `status ${exchange.status}` : `no answer: ${toWord(exchange)}`);
  return exchange;
};

const toWord = (exchange: Exclude<Exchange, { kind: 'answered' }>): string =>
  exchange.kind === 'broken' ? `${exchange.reason} after ${exchange.received}` : exchange.kind;
