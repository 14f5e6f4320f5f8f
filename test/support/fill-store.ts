// Started with --expose-gc by test/memory/store-weights.system.test.ts: fills one store of this process, and prints as JSON what
// it says it takes and by how much the heap has grown.
import { randomBytes, randomUUID } from 'node:crypto';
import { asBatch, createTool, ENDS } from '@recourse/test-support/circuit-lab.ts';
import { pino } from 'pino';
import * as z from 'zod';
import { createRateLimits } from '#src/auth/rate-limits.ts';
import { loadConfig } from '#src/config/settings/config.ts';
import { createCircuitBreakers } from '#src/executor/circuit-breakers.ts';
import type { StoreUse } from '#src/memory/bounded-store.ts';
import { createStoreMemory, type StoreName } from '#src/memory/store-memory.ts';
import { wire } from '#src/wiring/wire.ts';
import { createMemoryPageTokens } from './memory-page-tokens.ts';

type Subject = {
  /** Adds one more entry, unlike all others. */
  readonly add: (index: number) => Promise<unknown>;
  /** Of the stores it adds to, or of all there are. */
  readonly uses: () => readonly StoreUse[];
};

// Their parts of it are small.
const SMALL_STORES_BYTES = 400_000_000;

const createMemory = () => {
  const uses = new Map<StoreName, StoreUse>();
  const memory = createStoreMemory({ totalBytes: SMALL_STORES_BYTES, watch: (name, use) => void uses.set(name, use) });
  return { memory, usesOf: (...names: StoreName[]) => names.flatMap((name) => uses.get(name) ?? []) };
};

const failing = createTool('failing', {
  input: z.object({ text: z.string() }),
  breakerKey: 'text',
  run: (input) => {
    throw new Error(`Нет: ${JSON.stringify(input)}`);
  },
});

type Batch = { readonly body: object; readonly headers?: Readonly<Record<string, string>> };

/** A whole service, asked by injected requests. */
const createService =
  (stores: readonly StoreName[], toBatch: (index: number) => Batch, settings: Readonly<Record<string, string>> = {}) =>
  async (): Promise<Subject> => {
    const loaded = loadConfig({ STORE_MEMORY_MB: '38', MAX_EVENT_LOOP_LAG_MS: '60000', ...settings });
    // What is noted of calls for a second, and is bounded, is no part of a store.
    const options = { extraTools: [failing], telemetry: 'off' } as const;
    const { app } = await wire(loaded.config, pino({ level: 'silent' }), options);
    await app.ready();
    const uses = new Map<string, StoreUse>();
    const read = async (): Promise<void> => {
      const { body } = await app.inject({ url: '/metrics', headers: { host: '127.0.0.1' } });
      const readBytes = (name: string, store: string): number =>
        Number(new RegExp(`^${name}\\{store="${store}"\\} (\\S+)$`, 'm').exec(body)?.[1] ?? 0);
      for (const store of stores)
        uses.set(store, {
          bytes: readBytes('recourse_store_bytes', store),
          limitBytes: readBytes('recourse_store_limit_bytes', store),
          evictions: { full: 0, share: 0, expired: 0, too_large: 0 },
        });
    };
    await read();
    return {
      add: async (index) => {
        const { body, headers = {} } = toBatch(index);
        const answer = await app.inject({
          method: 'POST',
          url: '/tool-calls',
          headers: { host: '127.0.0.1', ...headers },
          payload: body,
        });
        if (answer.statusCode !== 200) throw new Error(answer.body);
        if (index % 100 === 0) await read();
      },
      uses: () => [...uses.values()],
    };
  };

const toCalls = (name: string, toText: (at: number) => string, count = 10) =>
  Array.from({ length: count }, (_, at) => ({ id: `call_${at}`, name, arguments: { text: toText(at) } }));

const NO_JOURNAL = { SESSION_JOURNAL: '0' };
const keyed = (index: number) => ({ headers: { 'idempotency-key': `key-${index}-${randomUUID()}` } });

const SUBJECTS: Readonly<Record<string, () => Promise<Subject>>> = {
  sessions: createService(
    ['sessions'],
    () => ({ body: { session_id: randomUUID(), calls: toCalls('echo', () => randomUUID()) } }),
    NO_JOURNAL,
  ),
  'sessions of one call': createService(
    ['sessions'],
    () => ({ body: { session_id: randomUUID(), calls: toCalls('echo', () => randomUUID(), 1) } }),
    NO_JOURNAL,
  ),
  'sessions that failed in named rounds': createService(
    ['sessions'],
    () => ({
      body: {
        session_id: randomUUID(),
        round_id: `round ${randomUUID()}`,
        calls: toCalls('failing', () => randomUUID()),
      },
    }),
    NO_JOURNAL,
  ),
  journals: createService(['sessions', 'journals'], () => ({
    body: { session_id: randomUUID(), calls: toCalls('echo', () => randomUUID()) },
  })),
  'journals of two bytes a character': createService(['sessions', 'journals'], () => ({
    body: { session_id: randomUUID(), calls: toCalls('echo', () => `→ ${randomUUID()}`) },
  })),
  'sessions of refused calls': createService(
    ['sessions', 'journals'],
    () => ({ body: { session_id: randomUUID(), calls: toCalls('echo', () => randomUUID()) } }),
    { SESSION_MAX_CALLS: '1' },
  ),
  marks: createService(['marks', 'leases', 'results', 'answers'], (index) => ({
    body: { calls: toCalls('echo', () => 'x', 1) },
    ...keyed(index),
  })),
  results: createService(['marks', 'leases', 'results', 'answers'], (index) => ({
    body: { calls: toCalls('echo', () => `→ ${randomBytes(250).toString('hex')}`, 2) },
    ...keyed(index),
  })),
  pages: async () => {
    const { memory, usesOf } = createMemory();
    const tokens = createMemoryPageTokens({ ttlMs: 60_000, now: () => 1, memory });
    return {
      add: (index) =>
        tokens.keep({ session: `acme:${index}-${randomUUID()}`, tool: 'list', query: randomUUID() }, 2, randomUUID()),
      uses: () => usesOf('pages'),
    };
  },
  rates: async () => {
    const { memory, usesOf } = createMemory();
    const limit = createRateLimits({
      standard: { requests: 1, windowMs: 3_600_000 },
      store: null,
      onError: () => undefined,
      now: () => performance.now(),
      memory,
    });
    return {
      add: async (index) => {
        for (let times = 0; times < 2; times += 1)
          await limit({ tenant: 'acme', rateKey: `key ${index} ${randomUUID()}`, rate: null }, '');
        const over = { tenant: 'acme', rateKey: `over ${index} ${randomUUID()}`, rate: null };
        for (let times = 0; times < 2; times += 1) await limit(over, '');
      },
      uses: () => usesOf('rates', 'blocked'),
    };
  },
  circuits: async () => {
    const { memory, usesOf } = createMemory();
    const breakers = createCircuitBreakers({
      failures: 3,
      openMs: 60_000,
      observer: { circuitChanged: () => undefined },
      memory,
      now: () => performance.now(),
    });
    return {
      add: async (index) => {
        for (let times = 0; times < 3; times += 1) {
          const pass = breakers.begin(failing, { text: `https://upstream-${index}.example/${'→'.repeat(150)}` });
          if (pass.kind === 'passed') pass.ended(ENDS.fault, 'own', asBatch({}));
          await Promise.resolve();
        }
      },
      uses: () => usesOf('circuits'),
    };
  },
};

const sumOf = (uses: readonly StoreUse[]): number => uses.reduce((sum, { bytes }) => sum + bytes, 0);
const isFull = ({ bytes, limitBytes }: StoreUse): boolean => bytes > 0.97 * limitBytes;

// What is compiled, and what grows once, is there after these.
const WARM_UP = 400;
const MOST = 200_000;

const collect = (): number => {
  for (let times = 0; times < 4; times += 1) globalThis.gc?.();
  return process.memoryUsage().heapUsed;
};

const [, , name = ''] = process.argv;
const create = SUBJECTS[name];
if (create === undefined || globalThis.gc === undefined) throw new Error(`There is no way to fill '${name}'.`);
const subject = await create();
let index = 0;
for (; index < WARM_UP; index += 1) await subject.add(index);
const [heapBefore, claimedBefore] = [collect(), sumOf(subject.uses())];
// Until one of them is full: from then on entries go as others come.
for (; index < MOST && !subject.uses().some(isFull); index += 1) await subject.add(index);
while (index % 100 !== 1) await subject.add(index++);
const [heapAfter, claimedAfter] = [collect(), sumOf(subject.uses())];
process.stdout.write(
  `${JSON.stringify({ entries: index, claimed: claimedAfter - claimedBefore, taken: heapAfter - heapBefore })}\n`,
);
process.exit(0);
