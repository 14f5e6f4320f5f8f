import { setTimeout as pause } from 'node:timers/promises';
import * as z from 'zod';
import { createClient, type Exchange } from '../exchange.ts';
import type { Replica } from '../replica.ts';
import type { Payment } from './cuts.ts';

/** How a client pays and tries again. */
export type ClientKind = {
  readonly name: 'naive' | 'key alone' | 'reconcile';
  readonly tool: 'pay' | 'pay_by_reference';
  /** Whether all tries of a payment have one Idempotency-Key. */
  readonly isKeyed: boolean;
  /** How often it asks at most. */
  readonly tries: number;
  /** How often it hears the same outcome that is no success before it gives up. */
  readonly unknowns: number;
};

export const CLIENTS: readonly ClientKind[] = [
  { name: 'naive', tool: 'pay', isKeyed: false, tries: 6, unknowns: 6 },
  { name: 'key alone', tool: 'pay', isKeyed: true, tries: 120, unknowns: 3 },
  { name: 'reconcile', tool: 'pay_by_reference', isKeyed: true, tries: 120, unknowns: 120 },
];

const Result = z.object({
  outcome: z.enum(['success', 'retry', 'failed', 'refused', 'unknown', 'pending']),
  executed: z.enum(['yes', 'no', 'maybe']),
  replayed: z.boolean().default(false),
  message: z.string(),
});
const Body = z.object({ results: z.tuple([Result]) });
export type Result = z.infer<typeof Result>;

/** What a client has been told at last of a payment; `result` is null where no try was answered. */
export type Told = {
  readonly payment: Payment;
  readonly result: Result | null;
  /** Of the last try that was answered. */
  readonly requestId: string | null;
  readonly tries: number;
  readonly tookMs: number;
};

export type PayTerms = {
  readonly replicas: readonly Replica[];
  /** The place of the replica that is asked first; each further try goes to the next one. */
  readonly first: number;
  /** Hears which replica is asked from now on. */
  readonly onAsk: (payment: string, replica: Replica) => void;
};

const DEADLINE_MS = 5000;
const ANSWER_MS = DEADLINE_MS + 3000;
const PATIENCE_MS = 60_000;
const PAUSE_MS = 300;
const AFTER_UNKNOWN_MS = 500;
const FOLLOW_MS = 2000;
const http = createClient();

/** Has one payment made as the runtime of an agent would: again and again, until the answer is final or its patience ends. */
export const makePayment = async (kind: ClientKind, payment: Payment, terms: PayTerms): Promise<Told> => {
  const startedAt = performance.now();
  const talk: Talk = { last: null, heard: 0, tries: 0, key: 1 };
  const mayGoOn = (): boolean => talk.tries < kind.tries && talk.heard < kind.unknowns;
  while (mayGoOn() && performance.now() - startedAt < PATIENCE_MS) {
    talk.tries += 1;
    const tried = await tryOnce(kind, payment, talk, terms);
    if (note(talk, tried, kind) === 'final') break;
    await pause(tried.kind === 'answered' ? AFTER_UNKNOWN_MS : tried.waitMs);
  }
  const { result = null, requestId = null } = talk.last ?? {};
  return { payment, result, requestId, tries: talk.tries, tookMs: performance.now() - startedAt };
};

type Talk = { last: Answered | null; heard: number; tries: number; key: number };

/** The naive client makes a new call of whatever is no success. */
const note = (talk: Talk, tried: Tried, { isKeyed }: ClientKind): 'final' | 'again' => {
  if (tried.kind === 'nothing') return 'again';
  const { outcome, executed, replayed } = tried.result;
  talk.last = tried;
  if (outcome === 'success' || (isKeyed && outcome === 'failed')) return 'final';
  if (outcome !== 'refused') talk.heard += 1;
  // The key has ended with a call that did nothing: a pending call is made again by a call of its own.
  if (executed === 'no' && replayed) talk.key += 1;
  return 'again';
};

const tryOnce = async (kind: ClientKind, payment: Payment, talk: Talk, terms: PayTerms): Promise<Tried> => {
  const { replicas, first, onAsk } = terms;
  const replica = replicas[(first + talk.tries - 1) % replicas.length];
  if (replica === undefined) throw new Error('There is no replica.');
  onAsk(payment.id, replica);
  const asked = await ask(kind, payment, talk, replica);
  return asked.kind === 'answered' && asked.result.outcome === 'pending' ? follow(asked, terms) : asked;
};

type Answered = { readonly kind: 'answered'; readonly result: Result; readonly requestId: string };
type Tried = Answered | { readonly kind: 'nothing'; readonly waitMs: number };

const NOTHING: Tried = { kind: 'nothing', waitMs: PAUSE_MS };

const ask = async (kind: ClientKind, payment: Payment, talk: Talk, { url }: Replica): Promise<Tried> => {
  const { id, amount, cut, isPending, hangUpAfterMs } = payment;
  const call = { id: 'call_1', name: kind.tool, arguments: { payment: id, amount } };
  const exchange = await http.exchange({
    url: `${url}/tool-calls`,
    body: JSON.stringify({ deadline_ms: DEADLINE_MS, calls: [call] }),
    headers: {
      'content-type': 'application/json',
      ...(kind.isKeyed ? { 'idempotency-key': `payment ${id}, ${talk.key}` } : {}),
      ...(isPending ? { prefer: 'respond-async' } : {}),
    },
    connection: 'fresh',
    hangUpAfterMs: cut === 'client' && talk.tries === 1 ? hangUpAfterMs : null,
    patienceMs: ANSWER_MS,
  });
  return readExchange(exchange);
};

const readExchange = (exchange: Exchange): Tried => {
  if (exchange.kind !== 'answered') return NOTHING;
  const { status, body, retryAfter, requestId } = exchange;
  if (status === 200 || status === 202) return { kind: 'answered', result: readResult(body), requestId };
  return { kind: 'nothing', waitMs: Math.max(PAUSE_MS, Number(retryAfter ?? 0) * 1000) };
};

const readResult = (text: string): Result => Body.parse(JSON.parse(text)).results[0];

/** Waits for the end of a pending call, at whichever replica answers. */
const follow = async (pending: Answered, { replicas, first }: PayTerms): Promise<Answered> => {
  const until = performance.now() + PATIENCE_MS;
  for (let round = first; performance.now() < until; round += 1) {
    const replica = replicas[round % replicas.length];
    const result = replica === undefined ? null : await readKept(replica, pending.requestId, FOLLOW_MS);
    if (result !== null && result.outcome !== 'pending') return { ...pending, result };
    if (result === null) await pause(PAUSE_MS);
  }
  return pending;
};

/** The result of a request as it is kept now; null: there is none, or the replica is away. */
export const readKept = async ({ url }: Replica, requestId: string, waitMs: number): Promise<Result | null> => {
  try {
    const signal = AbortSignal.timeout(waitMs + 5000);
    const answer = await fetch(`${url}/tool-calls/${requestId}?wait_ms=${waitMs}`, { signal });
    const text = await answer.text();
    return answer.status < 300 ? readResult(text) : null;
  } catch (error) {
    if (error instanceof TypeError || error instanceof DOMException) return null;
    throw error;
  }
};
