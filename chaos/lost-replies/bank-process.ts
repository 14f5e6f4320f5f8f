import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import * as z from 'zod';
import { CUTS, type CutKind, type Payment, POINTS } from './cuts.ts';

// The bank: books every request that it takes, also where it knows the reference already, and cuts the first request of each payment.

const isCut = (text: string): text is CutKind => Object.hasOwn(CUTS, text);
const Plan = z.array(
  z.object({
    ...{ id: z.string(), amount: z.number(), cut: z.string().refine(isCut), point: z.enum(POINTS) },
    ...{ cutAfterMs: z.number(), bookAfterMs: z.number(), hangUpAfterMs: z.number(), isPending: z.boolean() },
  }),
);
const Request = z.object({ payment: z.string(), reference: z.string(), host: z.int() });
type Request = z.infer<typeof Request>;

/** `booked` is in the ledger; `accepted`: the bank will book it, or has not decided. */
type Entry = Request & { state: 'accepted' | 'booked' | 'dropped' };

const ledger: Entry[] = [];
const seen = new Set<string>();
const killed = new Map<string, () => void>();
let payments: ReadonlyMap<string, Payment> = new Map();

const book = (entry: Entry): void => {
  entry.state = 'booked';
};
const bookLater = (entry: Entry, { bookAfterMs }: Payment): void => void setTimeout(() => book(entry), bookAfterMs);
const drop = (entry: Entry): void => {
  entry.state = 'dropped';
};
const reset = ({ socket }: ServerResponse): void => {
  socket?.resetAndDestroy();
};
const answer = (response: ServerResponse, body: unknown): void => {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
};
const describe = ({ reference, state }: Entry) => ({ reference, state });

type Taken = { readonly entry: Entry; readonly payment: Payment; readonly response: ServerResponse };

/** Has a process killed, by who started the bank, while the request stands at one of three points. */
const cutByKill = async ({ entry, payment, response }: Taken): Promise<void> => {
  if (payment.point === 'after') book(entry);
  const { promise, resolve } = Promise.withResolvers<void>();
  killed.set(payment.id, resolve);
  process.send?.({ kill: payment.id, host: entry.host });
  await promise;
  if (payment.point === 'during') bookLater(entry, payment);
  if (payment.point === 'before') drop(entry);
  reset(response);
};

const CUT: Readonly<Record<CutKind, (taken: Taken) => void | Promise<void>>> = {
  before: ({ entry, response }) => {
    drop(entry);
    reset(response);
  },
  during: ({ entry, payment, response }) => {
    bookLater(entry, payment);
    reset(response);
  },
  silent: ({ entry, payment }) => bookLater(entry, payment),
  after: ({ entry }) => book(entry),
  reply: async ({ entry, response }) => {
    book(entry);
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
    response.write('{"reference":');
    await pause(5);
    reset(response);
  },
  client: async ({ entry, payment, response }) => {
    book(entry);
    await pause(payment.cutAfterMs);
    answer(response, describe(entry));
  },
  host: cutByKill,
  worker: cutByKill,
  replica: cutByKill,
};

const pay = async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
  const entry: Entry = { ...Request.parse(await json(message)), state: 'accepted' };
  ledger.push(entry);
  const payment = payments.get(entry.payment);
  if (payment === undefined || seen.has(entry.payment)) {
    book(entry);
    answer(response, describe(entry));
    return;
  }
  seen.add(entry.payment);
  await pause(payment.cutAfterMs);
  await CUT[payment.cut]({ entry, payment, response });
};

/** What the bank has of a reference: a request that is booked, else one that will be. */
const find = (reference: string) => {
  const entries = ledger.filter((entry) => entry.reference === reference);
  const found = ['booked', 'accepted'].map((state) => entries.find((entry) => entry.state === state));
  const entry = found.find((each) => each !== undefined);
  return entry === undefined ? { reference, state: 'none' } : describe(entry);
};

const server = createServer((message, response) => {
  // The other side may be gone: that is what is tried here.
  response.on('error', () => undefined);
  if (message.method === 'POST') void pay(message, response);
  else if (message.url === '/ledger') answer(response, ledger);
  else answer(response, find(decodeURIComponent(message.url?.split('/').at(-1) ?? '')));
}).listen(0, '127.0.0.1');
await once(server, 'listening');
const Told = z.union([z.object({ plan: Plan }), z.object({ killed: z.string() })]);
process.on('message', (message) => {
  const told = Told.parse(message);
  if ('killed' in told) killed.get(told.killed)?.();
  else payments = new Map(told.plan.map((payment) => [payment.id, payment]));
  if ('plan' in told) process.send?.({ port: portOf() });
});
// Ctrl-C goes to the whole group: whoever started us says when the end has come, or is gone.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
process.on('disconnect', () => process.exit(0));

const portOf = (): number => {
  const address = server.address();
  return address === null || typeof address === 'string' ? 0 : address.port;
};
