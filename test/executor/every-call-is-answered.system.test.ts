import { createSubject, MAX_BATCH_CALLS, now, settings } from '@recourse/test-support/executor-lab.ts';
import { createMemoryKeyedStore } from '@recourse/test-support/idempotency-stores-under-test.ts';
import { unpackRound } from '@recourse/test-support/marks.ts';
import { createMemorySessionStore } from '@recourse/test-support/memory-sessions.ts';
import { roomyMemory } from '@recourse/test-support/roomy-memory.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ToolResult } from '#src/contract/tool-result.ts';
import type { Client } from '#src/executor/deadline.ts';
import type { IdempotencyStore } from '#src/executor/idempotency-store.ts';
import type { Executor } from '#src/executor/run-batch.ts';
import type { SessionStore } from '#src/executor/session-store.ts';
import { createFallbackSessionStore, type StoreDownPolicy } from '#src/sessions/fallback-session-store.ts';
import { OutageSessions } from '#src/sessions/outage-sessions.ts';
import { createRecordSessionStore } from '#src/sessions/record-session-store.ts';
import { createMemoryRecordStore } from '#src/store/memory-record-store.ts';
import type { RecordStore } from '#src/store/record-store.ts';
import { type AnyBatch, anyBatch, anyTools } from './any-batch.ts';

// PROPERTY_RUNS=20000 for a longer look, about ten minutes.
const RUNS = Number(process.env['PROPERTY_RUNS'] ?? 1000);
// Most of a run is waiting for time limits: quarters wait at the same time, and so does what is longer.
const PARTS = Math.max(4, Math.ceil(RUNS / 1000));

type StoreState = 'up' | 'down' | 'slow' | 'settles_never';

/** A store in one of the states a real one gets into, as the executor sees it: behind the fall-back. */
const createStore = (state: StoreState, policy: StoreDownPolicy): SessionStore => {
  const memory = createMemorySessionStore({ mode: 'redis', settings, memory: roomyMemory(), now });
  const lost = async (): Promise<never> => {
    throw new Error('Command timed out');
  };
  const primary: Record<StoreState, SessionStore> = {
    up: memory,
    down: { ...memory, admit: lost },
    slow: { ...memory, admit: (round) => new Promise((resolve) => setTimeout(() => resolve(memory.admit(round)), 5)) },
    settles_never: createRecordSessionStore({
      mode: 'redis',
      settings,
      unpackRound,
      store: createUnsettledStore(lost),
    }),
  };
  const local = createMemorySessionStore({ mode: 'local', settings, memory: roomyMemory(), now });
  return createFallbackSessionStore({
    primary: primary[state],
    local,
    outage: new OutageSessions({ shared: memory.records, local }),
    policy,
    availability: { awaySince: () => null },
  });
};

/** A store that fails at each update which must be kept, as a settlement must. */
const createUnsettledStore = (lost: () => Promise<never>): RecordStore => {
  const store = createMemoryRecordStore({ memory: roomyMemory(), now });
  return {
    ...store,
    open: (kind) => {
      const records = store.open(kind);
      return {
        update: (key, decide, timeout) => (timeout === 'long' ? lost() : records.update(key, decide, timeout)),
        read: (key, look) => records.read(key, look),
        list: (key, count) => records.list(key, count),
        delete: (key) => records.delete(key),
      };
    },
  };
};

/** Records of keyed batches, kept or away. */
const createKeys = (state: StoreState): IdempotencyStore => {
  const keys = createMemoryKeyedStore({ now });
  return state === 'down' ? { ...keys, open: async () => ({ kind: 'unavailable' }) } : keys;
};

/** A client that goes away after a time, or stays. */
const createClient = (goneAfterMs: number | null): Client => {
  const goneAt = now() + (goneAfterMs ?? Number.POSITIVE_INFINITY);
  return {
    isGone: () => now() >= goneAt,
    whenGone: (listener) => {
      if (goneAfterMs === null) return () => undefined;
      const timer = setTimeout(listener, Math.max(0, goneAt - now()));
      return () => clearTimeout(timer);
    },
  };
};

let batches = 0;

const post = async (executor: Executor, batch: AnyBatch): Promise<readonly unknown[]> => {
  batches += 1;
  const source = JSON.stringify({ calls: batch.calls });
  const parsed: { readonly calls: readonly unknown[] } = JSON.parse(source);
  const key = `key_${batches}`;
  const answer = await executor.executeBatch({
    requestId: `request_${batches}`,
    batchId: `batch_${batches}`,
    tenant: 'test',
    key: null,
    traceId: null,
    trace: null,
    listener: null,
    form: batches % 3 === 0 ? 'message' : 'calls',
    reading: null,
    memory: null,
    caller: `caller_${batches % 2}`,
    mayUse: (name) => name !== 'tool_3',
    sessionKey: batch.session,
    roundId: batch.roundId,
    calls: parsed.calls,
    body: { source },
    idempotency: batches % 2 === 0 ? null : { key, recordKey: key, requestKey: key },
    callKeyOf: batches % 4 === 0 ? (id) => (batch.session === null ? null : `${batch.session} ${id}`) : null,
    order: batch.order,
    onError: batch.onError,
    deadlineMs: batch.deadlineMs,
    client: createClient(batch.clientGoneAfterMs),
  });
  if (answer.kind !== 'results') throw new Error(`A new key is never ${answer.kind}.`);
  return answer.results.map(({ json }): unknown => JSON.parse(json));
};

const repeatLast = <Wave>(waves: readonly Wave[]): readonly Wave[] => [1, 2, 3].flatMap(() => waves.slice(-1));

const expectWhole = (batch: AnyBatch, results: readonly unknown[]): void => {
  const valid = results.map((result) => ToolResult.parse(result));
  expect(valid.map(({ index }) => index)).toEqual(batch.calls.map((_, index) => index));
  for (const result of valid) {
    expect(result.success).toBe(result.outcome === 'success');
    expect(result.error === null).toBe(result.success);
    if (!result.success) expect(result.message).not.toBe('');
    expect(result.message.length).toBeLessThanOrEqual(2000);
    expect(result.error?.code).not.toBe('internal_error');
    if (result.index >= MAX_BATCH_CALLS) expect(result.success).toBe(false);
  }
};

const seen = new Set<string>();

test.concurrent.for(Array.from({ length: PARTS }, (_, part) => part + 1))(
  `every call is answered once, in its place, whatever tools, store and siblings do (part %i of ${PARTS})`,
  { timeout: timeLimit(240_000) * Math.max(1, RUNS / 1000) },
  async () => {
    await fc.assert(
      // The last wave comes again and again: what fails then is a loop.
      fc.asyncProperty(
        anyTools,
        fc.array(fc.array(anyBatch, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 }),
        fc.constantFrom<StoreState>('up', 'up', 'down', 'slow', 'settles_never'),
        fc.constantFrom<StoreDownPolicy>('local', 'open', 'closed'),
        async (tools, waves, state, policy) => {
          const { executor, violations } = createSubject(tools, createStore(state, policy), createKeys(state));
          for (const concurrent of [...waves, ...repeatLast(waves)]) {
            const answers = await Promise.all(concurrent.map((batch) => post(executor, batch)));
            for (const [place, batch] of concurrent.entries()) expectWhole(batch, answers[place] ?? []);
            for (const result of answers.flat()) seen.add(ToolResult.parse(result).error?.code ?? 'ok');
          }
          expect(violations).toEqual([]);
        },
      ),
      { numRuns: Math.ceil(RUNS / PARTS) },
    );
  },
);

test('the generated batches reach every code they are meant to reach', () => {
  // A property that never sees a failure proves nothing.
  const reachable = [
    'ok',
    'invalid_call',
    'unknown_tool',
    'invalid_arguments',
    'retry_requested',
    'tool_failed',
    'tool_exception',
    'timeout',
    'invalid_output',
    'output_too_large',
    'upstream_rate_limited',
    'upstream_unavailable',
    'not_authorized',
    'retry_budget_exhausted',
    'call_limit_exceeded',
    'not_executed',
    'cancelled',
    'overloaded',
    'store_unavailable',
    'loop_detected',
    'circuit_open',
  ];
  expect(reachable.filter((code) => !seen.has(code))).toEqual([]);
});
