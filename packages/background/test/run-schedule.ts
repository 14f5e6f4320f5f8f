import { setTimeout as pause } from 'node:timers/promises';
import { freshName } from '@recourse/test-support/keyed-client.ts';
import { ACCEPT, type StreamFormat } from '@recourse/test-support/stream-lab.ts';
import * as fc from 'fast-check';
import { BACKGROUNDS, EFFECTS, freshRequestId, type ScheduleLab } from './schedule-lab.ts';

export type Format = 'json' | StreamFormat;

const format = fc.constantFrom<Format>('json', 'sse', 'ndjson');
const of = fc.nat({ max: 11 });

const anyCall = fc.record({
  tool: fc.constantFrom(...BACKGROUNDS.flatMap((background) => EFFECTS.map((effects) => `${background}_${effects}`))),
  held: fc.boolean(),
});

const begin = fc.record({
  kind: fc.constant('begin' as const),
  calls: fc.array(anyCall, { minLength: 1, maxLength: 4 }),
  session: fc.constantFrom(null, 'a', 'b'),
  format,
  // Seconds; null: the batch waits for its calls.
  wait: fc.constantFrom(0, 0, 0, 1, null),
  keyed: fc.boolean(),
});

/** What a schedule does; `of` counts from the batches, requests or handlers that there are. */
export const anyStep = fc.oneof(
  { weight: 5, arbitrary: begin },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('pause' as const), ms: fc.constantFrom(1, 4, 15) }) },
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant('end' as const), of, how: fc.constantFrom('value', 'throw') }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('cancel' as const),
      of,
      only: fc.constantFrom(null, null, 0, 1, 3),
      how: fc.constantFrom('asked', 'forced'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('leave' as const), of }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('watch' as const), of, format: fc.constantFrom('sse', 'ndjson') }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('poll' as const), of, until: fc.constantFrom('all', 'any') }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('repeat' as const), of, format }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const) }) },
);

export type Step = typeof anyStep extends fc.Arbitrary<infer Value> ? Value : never;
type Begin = Extract<Step, { readonly kind: 'begin' }>;

/** A batch that was sent. */
export type SentBatch = {
  readonly requestId: string;
  readonly isAsync: boolean;
  readonly body: {
    readonly calls: readonly { readonly name: string; readonly arguments: { readonly only: string } }[];
  };
  readonly headers: Readonly<Record<string, string>>;
};

/** What came back; `left`: whoever sent it did not wait for all of it. */
export type Answered = { readonly status: number; readonly text: string } | 'left';

/** A request about a batch. */
export type SentRequest = {
  readonly kind: 'begin' | 'repeat' | 'watch' | 'poll' | 'cancel';
  readonly batch: SentBatch;
  readonly format: Format;
  readonly leave: () => void;
  readonly answered: Promise<Answered>;
};

export type PlayedSchedule = { readonly batches: readonly SentBatch[]; readonly requests: readonly SentRequest[] };

const toBatch = ({ calls, session, wait, keyed }: Begin): SentBatch => ({
  requestId: freshRequestId(),
  isAsync: wait !== null,
  body: {
    ...(session === null ? {} : { session_id: session }),
    ...(wait === null ? {} : { notify: 'ops' }),
    calls: calls.map(({ tool, held }, id) => ({ id, name: tool, arguments: { only: freshName(), held } })),
  },
  headers: {
    'content-type': 'application/json',
    ...(wait === null ? {} : { prefer: `respond-async, wait=${wait}` }),
    ...(keyed ? { 'idempotency-key': freshName() } : {}),
  },
});

type AboutBatch = Extract<Step, { readonly kind: 'watch' | 'poll' | 'repeat' | 'cancel' }>;

/** Sends requests and notes them; waits for none of their answers. */
const createSender = ({ url }: ScheduleLab) => {
  const requests: SentRequest[] = [];
  const send = (kind: SentRequest['kind'], batch: SentBatch, as: Format, path: string, init: RequestInit): void => {
    const leaving = new AbortController();
    const accept = as === 'json' ? 'application/json' : ACCEPT[as];
    const headers = { ...Object(init.headers), accept };
    const answered = readAnswer(`${url}${path}`, { ...init, headers, signal: leaving.signal });
    requests.push({ kind, batch, format: as, leave: () => leaving.abort(), answered });
  };
  const post = (kind: 'begin' | 'repeat', batch: SentBatch, as: Format, requestId: string): void => {
    const headers = { ...batch.headers, 'x-request-id': requestId };
    send(kind, batch, as, '/tool-calls', { method: 'POST', headers, body: JSON.stringify(batch.body) });
  };
  const ask = (step: AboutBatch, batch: SentBatch): void => {
    const path = `/tool-calls/${batch.requestId}`;
    switch (step.kind) {
      case 'watch':
        send('watch', batch, step.format, `${path}/events`, {});
        return;
      case 'poll':
        send('poll', batch, 'json', `${path}?wait_ms=50&until=${step.until}`, {});
        return;
      case 'repeat':
        // Without a key it is another batch.
        if ('idempotency-key' in batch.headers) post('repeat', batch, step.format, freshRequestId());
        return;
      case 'cancel': {
        const chosen = step.only === null ? path : `${path}/calls/${step.only}`;
        send('cancel', batch, 'json', `${chosen}?force=${step.how === 'forced'}`, { method: 'DELETE' });
      }
    }
  };
  return { requests, ask, begin: (batch: SentBatch, as: Format) => post('begin', batch, as, batch.requestId) };
};

/** One of them, whatever number is given. */
const pick = <One>(all: readonly One[], of: number): One | undefined => all[of % Math.max(1, all.length)];

/** Does what the steps say one after the other, and waits for no answer; then no handler waits any more. */
export const playSchedule = async (lab: ScheduleLab, steps: readonly Step[]): Promise<PlayedSchedule> => {
  const batches: SentBatch[] = [];
  const { requests, ask, begin: send } = createSender(lab);
  const play = (step: Step): Promise<void> | void => {
    switch (step.kind) {
      case 'begin': {
        const batch = toBatch(step);
        batches.push(batch);
        return send(batch, step.format);
      }
      case 'pause':
        return pause(step.ms);
      case 'end':
        return lab.ledger.end(step.of, step.how);
      case 'leave':
        return pick(requests, step.of)?.leave();
      case 'restart':
        return lab.restart();
      default: {
        const batch = pick(batches, step.of);
        if (batch !== undefined) ask(step, batch);
      }
    }
  };
  lab.ledger.hold();
  for (const step of steps) await play(step);
  lab.ledger.release();
  return { batches, requests };
};

const readAnswer = async (url: string, init: RequestInit & { readonly signal: AbortSignal }): Promise<Answered> => {
  try {
    const response = await fetch(url, init);
    return { status: response.status, text: await response.text() };
  } catch (error) {
    if (init.signal.aborted) return 'left';
    throw error;
  }
};
