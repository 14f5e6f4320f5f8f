import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createKeyedClient, freshName, type KeyedAnswer, whenConnected } from '@recourse/test-support/keyed-client.ts';
import { startRedisServer } from '@recourse/test-support/redis-server.ts';
import { type RunningProcess, startProcess } from '@recourse/test-support/start-process.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished } from 'vitest';
import * as z from 'zod';
import { openBank } from './open-bank.ts';

/**
 * What the bank does with a payment. `at_gate`: the handler has begun, and has sent no payment yet. `held`: the payment is neither booked
 * nor dropped. `cut_held`: the same, and the connection is cut. `booked`: it is booked, and not answered. `cut_before`, `cut_after`:
 * the connection is cut, before or after it is booked.
 */
export type Act = 'at_gate' | 'held' | 'cut_held' | 'booked' | 'cut_before' | 'cut_after';
/** What the bank says of a payment: the truth, or what it is told to say. */
export type Word = 'truth' | 'booked' | 'nothing' | 'processing' | 'throw' | 'hang' | 'nonsense';

/** A payment as a test knows it: its arguments have its mark, and its batches its key. */
class Payment {
  readonly mark: string;
  act: Act | 'book';
  word: Word = 'truth';
  /** Of its batches, in milliseconds. */
  deadlineMs = timeLimit(25_000);
  /** The processes that asked for it to be paid, and for whether it was. */
  readonly payers = new Set<number>();
  readonly lookers: number[] = [];
  readonly references = new Set<string>();
  /** How often the bank was asked to pay. */
  asked = 0;
  /** How often it has booked. */
  booked = 0;
  isProcessing = false;
  readonly reached = Promise.withResolvers<void>();
  letGo: (how: 'book' | 'drop') => void = () => undefined;

  constructor(mark: string, act: Act | 'book') {
    this.mark = mark;
    this.act = act;
  }

  /** A reference that is there is booked no second time. */
  book(): void {
    this.isProcessing = false;
    if (this.booked === 0) this.booked += 1;
  }

  find(): Word {
    if (this.word !== 'truth') return this.word;
    if (this.booked > 0) return 'booked';
    return this.isProcessing ? 'processing' : 'nothing';
  }
}

export type { Payment };

const Asked = z.object({ mark: z.string(), pid: z.int(), reference: z.string().default('') });

// Long enough for a kill in the middle, and short enough to be waited for.
const TIMEOUT_MS = 3000;

const TOOL = (url: string) => `
  import { defineTool, didNotHappen, happened, unclear, z } from 'recourse-server';
  const ask = async (path, body) => {
    const headers = { connection: 'close' };
    const answer = await fetch('${url}' + path, { method: 'POST', headers, body: JSON.stringify({ ...body, pid: process.pid }) });
    return answer.json();
  };
  export const pay = defineTool({
    name: 'pay',
    description: 'Pays by the bank of a test.',
    effects: 'write',
    background: 'optional',
    timeoutMs: ${TIMEOUT_MS},
    maxDurationMs: ${TIMEOUT_MS},
    reconcileTimeoutMs: 3000,
    input: z.object({ mark: z.string() }),
    run: async ({ mark }, { effectId }) => {
      await ask('/gate', { mark });
      return ask('/pay', { mark, reference: effectId });
    },
    reconcile: async ({ input: { mark }, effectId }) => {
      const { word } = await ask('/find', { mark, reference: effectId });
      if (word === 'booked') return happened({ paid: mark });
      if (word === 'nothing') return didNotHappen();
      if (word === 'throw') throw new Error('The bank is closed.');
      if (word === 'hang') await new Promise(() => setInterval(() => undefined, 1000));
      return word === 'nonsense' ? { verdict: 'perhaps' } : unclear();
    },
  });
`;

const answer = (response: ServerResponse, body: object): void => void response.end(JSON.stringify(body));

/** Does what the payment's act says, once; later ones are booked at once. */
const pay = (payment: Payment, response: ServerResponse): void => {
  const { act } = payment;
  payment.act = 'book';
  payment.asked += 1;
  const end = (how: 'book' | 'drop'): void => {
    if (how === 'book') payment.book();
    payment.isProcessing = false;
    answer(response, { paid: payment.mark });
  };
  if (act === 'booked' || act === 'cut_after') payment.book();
  if (act === 'held' || act === 'cut_held') payment.isProcessing = true;
  payment.letGo = end;
  if (act.startsWith('cut')) response.destroy();
  else if (act === 'book') end('book');
  payment.reached.resolve();
};

const passGate = (payment: Payment, response: ServerResponse): void => {
  const isHeld = payment.act === 'at_gate';
  payment.letGo = () => answer(response, {});
  if (isHeld) {
    payment.act = 'book';
    payment.reached.resolve();
  } else payment.letGo('book');
};

/** A bank, and the directory of the tool that pays by it. */
export const startBank = async () => {
  const payments = new Map<string, Payment>();
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const text = await Array.fromAsync(request, String);
    const { mark, pid, reference } = Asked.parse(JSON.parse(text.join('')));
    const payment = payments.get(mark);
    if (payment === undefined) throw new Error(`No test has planned ${mark}.`);
    if (reference !== '') payment.references.add(reference);
    if (request.url === '/find') {
      payment.lookers.push(pid);
      return answer(response, { word: payment.find() });
    }
    payment.payers.add(pid);
    return request.url === '/gate' ? passGate(payment, response) : pay(payment, response);
  };
  const tools = makeDirectory({ 'pay.ts': TOOL(await openBank(serve)) });
  const plan = (act: Act | 'book', word: Word = 'truth'): Payment => {
    const payment = new Payment(`${act} ${freshName()}`, act);
    payment.word = word;
    payments.set(payment.mark, payment);
    return payment;
  };
  return {
    tools: tools.root,
    plan,
    /** One for each step that a death may meet. The bank holds the last two: one is booked afterwards, the other is not. */
    planSteps: () => [plan('at_gate'), plan('booked'), plan('held'), plan('held')] as const,
  };
};

export type Store = 'memory' | 'sqlite' | 'redis';

export const startLab = async (store: Store) => {
  const bank = await startBank();
  const base = { TOOLS_DIR: bank.tools, RECONCILE_DELAYS: '100ms,200ms,500ms' };
  const environment: Record<string, string> = { ...base, ...(await openStore(store)) };
  const start = async (more: Readonly<Record<string, string>> = {}): Promise<Service> => {
    const running = await startProcess({ by: 'node', environment: { ...environment, ...more } });
    const client = createKeyedClient(running.url);
    if (store === 'redis') await whenConnected(client);
    return { ...client, running, url: running.url };
  };
  return { bank, environment, start };
};

const openStore = async (store: Store): Promise<Readonly<Record<string, string>>> => {
  if (store === 'sqlite') return { STORE: `sqlite:${join(makeDirectory().root, 'records.db')}` };
  if (store === 'memory') return {};
  const redis = await startRedisServer();
  onTestFinished(redis.stop);
  return { REDIS_URL: redis.url };
};

export type Service = ReturnType<typeof createKeyedClient> & { readonly running: RunningProcess; readonly url: string };

/** Asks for it to be paid. */
export const bodyOf = ({ mark, deadlineMs }: Payment) => ({
  deadline_ms: deadlineMs,
  calls: [{ id: mark, name: 'pay', arguments: { mark } }],
});

/** Sends a payment under its key and waits until the bank has come to its act. `answer`: null where the service died over it. */
export const beginPayment = async ({ post }: Service, payment: Payment) => {
  const sent = post(bodyOf(payment), { key: payment.mark }).catch(() => null);
  const early = await Promise.race([payment.reached.promise, sent]);
  // A bank that cuts the connection is answered for at once.
  if (early && payment.payers.size === 0) throw new Error(`${payment.mark} never ran: ${describe(early)}.`);
  return { answer: sent };
};

export const keyOf = ({ mark }: Payment) => ({ 'idempotency-key': mark });

/** Sends a payment under its key, and disconnects once the bank has come to its act. */
export const beginAndLeave = async ({ running }: Service, payment: Payment): Promise<void> => {
  const client = new AbortController();
  const headers = { 'content-type': 'application/json', ...keyOf(payment) };
  const body = JSON.stringify(bodyOf(payment));
  const sent = fetch(`${running.url}/tool-calls`, { method: 'POST', headers, body, signal: client.signal });
  await payment.reached.promise;
  client.abort();
  await expect(sent).rejects.toThrow('aborted');
};

/** What is found under the id of a request that was answered. */
export const lookUp = (service: Service, answered: KeyedAnswer | null): Promise<KeyedAnswer> =>
  service.lost(answered?.requestId ?? 'none');

/** What its caller reads of a payment. */
export const describe = (answered: Pick<KeyedAnswer, 'results' | 'problem'> | null): string => {
  const result = answered?.results[0];
  if (result === undefined) return answered?.problem ?? 'no answer';
  return `${result.outcome} ${result.executed}${result.reconciled === undefined ? '' : ' reconciled'}`;
};

export const HAPPENED = 'success yes reconciled';
export const DID_NOT = 'retry no reconciled';

/** Repeats a payment under its key as an agent does that waits for its end. */
export const repeat = async ({ post }: Service, payment: Payment): Promise<string> => {
  const again = async (): Promise<string> => describe(await post(bodyOf(payment), { key: payment.mark }));
  let said = await again();
  for (const until = performance.now() + SETTLED_WITHIN_MS; performance.now() < until; said = await again())
    if (said.startsWith('success')) break;
    else await pause(50);
  return said;
};

/** The most that may pass after the last kill until it is known how each write ended. */
export const SETTLED_WITHIN_MS = timeLimit(10_000);

/** Resolves when this service has settled the payment by itself; gives its verdict. */
export const whenSettled = async ({ running }: Service, { references, mark }: Payment): Promise<unknown> => {
  const find = () =>
    running
      .logLines()
      .find(({ msg, effect_id: id }) => msg === 'unknown outcome settled' && references.has(String(id)));
  await expect.poll(find, { timeout: SETTLED_WITHIN_MS, message: `${mark} is settled` }).toBeDefined();
  return find()?.['verdict'];
};

/** Has the bank book the one and drop the other once it was asked for both. */
export const decideHeld = async (late: Payment, dropped: Payment): Promise<void> => {
  await Promise.all([late, dropped].map((payment) => whenLookedFor(payment)));
  late.letGo('book');
  dropped.letGo('drop');
};

export const whenLookedFor = (payment: Payment, times = 1): Promise<void> =>
  expect.poll(() => payment.lookers.length, { timeout: SETTLED_WITHIN_MS }).toBeGreaterThanOrEqual(times);

/**
 * Repeats all payments under their keys: each is a success then, is in the ledger once, had one effect id in all its runs, and the
 * bank was asked to pay as often as told.
 */
export const expectPaidOnce = async (
  service: Service,
  payments: readonly Payment[],
  asked: readonly number[],
): Promise<void> => {
  const ends = await Promise.all(
    payments.map(async (payment) => {
      const [said] = (await repeat(service, payment)).split(' ');
      return [payment.mark, said, payment.booked, payment.references.size, payment.asked];
    }),
  );
  expect(ends).toEqual(payments.map(({ mark }, at) => [mark, 'success', 1, 1, asked[at]]));
};

const readMetric = async ({ url }: Service, series: string): Promise<number> => {
  const text = await (await fetch(`${url}/metrics`)).text();
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${series} `));
  return Number(line?.slice(series.length) ?? 0);
};

/** How many writes have ended otherwise than their checks had said, as this service counts. */
export const countContradictions = (service: Service): Promise<number> =>
  readMetric(service, 'recourse_reconcile_contradictions_total{tool="pay"}');

/** How many checks have thrown or not answered, as this service counts. */
export const countFailedLooks = (service: Service): Promise<number> =>
  readMetric(service, 'recourse_reconciles_total{tool="pay",verdict="failed"}');

/** Stops a process as a machine does that sleeps, and waits until it has stopped. */
export const freeze = async (pid: number): Promise<void> => {
  process.kill(pid, 'SIGSTOP');
  await expect.poll(() => readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.[0]).toBe('T');
};

/** The tool hosts that these payments were paid by. */
export const hostsOf = (payments: readonly Payment[]): ReadonlySet<number> =>
  new Set(payments.flatMap(({ payers }) => [...payers]));
