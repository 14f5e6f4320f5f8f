import { createRandom, type Random } from '../random.ts';

/** Where the first try of a payment is cut, and how a page says it. */
export const CUTS = {
  before: 'before the effect: the bank resets the connection and books nothing',
  during: 'during it: the bank has the request, the connection is reset, it books later',
  silent: 'during it: the same, but the connection stays and nothing is ever answered',
  after: 'after it: booked, and never answered',
  reply: 'reply lost between bank and tool: booked, the connection is reset in the middle of the answer',
  client: 'reply lost between service and client: the connection of the client is cut',
  host: 'tool host killed (SIGKILL)',
  worker: 'worker killed (SIGKILL), of payments that run as pending calls',
  replica: 'service replica killed (SIGKILL) and restarted',
} as const;
export type CutKind = keyof typeof CUTS;

/** What the bank does with the request of a payment whose tool host, worker or replica is killed: nothing, books it later, has booked it. */
export const POINTS = ['before', 'during', 'after'] as const;
type Point = (typeof POINTS)[number];

/** A payment, and where it is cut. Times in milliseconds. */
export type Payment = {
  readonly id: string;
  readonly amount: number;
  readonly cut: CutKind;
  readonly point: Point;
  /** From the arrival of the request at the bank to the cut. */
  readonly cutAfterMs: number;
  /** From the cut to a booking that comes later. */
  readonly bookAfterMs: number;
  /** Of `client`: when it hangs up after it has sent. The bank books at `cutAfterMs` and answers at twice that. */
  readonly hangUpAfterMs: number;
  /** It runs as a pending call. */
  readonly isPending: boolean;
};

// A kill takes a restart of some seconds, and there is one at a time.
const WEIGHTS: Readonly<Record<CutKind, number>> = {
  ...{ before: 4, during: 3, silent: 2, after: 4, reply: 4, client: 4, host: 4, worker: 2, replica: 2 },
};
// What the tools give a request of theirs; some bookings come before that, some after it.
export const TOOL_TIMEOUT_MS = 1500;

const KINDS = (['before', 'during', 'silent', 'after', 'reply', 'client', 'host', 'worker', 'replica'] as const).map(
  (kind) => ({ kind, weight: WEIGHTS[kind] }),
);

/** The same payments and cuts for the same seed. */
export const planPayments = (count: number, seed: number): readonly Payment[] => {
  const random = createRandom(seed);
  return Array.from({ length: count }, (_, place) => planPayment(`p${place}`, random));
};

const planPayment = (id: string, random: Random): Payment => {
  const { kind: cut } = random.weigh(KINDS);
  const cutAfterMs = random.whole(0, 150);
  const drawn = {
    amount: random.whole(1, 9999),
    point: random.pick(POINTS),
    bookAfterMs: random.whole(20, TOOL_TIMEOUT_MS + 1000),
    // From before it is booked to after it is answered.
    hangUpAfterMs: random.whole(1, 2 * cutAfterMs + 60),
  };
  const isAlike = random.chance(0.2);
  const isPending = cut === 'worker' || (isAlike && cut !== 'replica');
  return { id, cut, cutAfterMs, ...drawn, isPending };
};
