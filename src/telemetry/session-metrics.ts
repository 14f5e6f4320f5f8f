import { Counter, Gauge, type Registry } from 'prom-client';
import type { KeyUse } from '../executor/call-observer.ts';
import { EVICTION_REASONS, type StoreUse } from '../memory/bounded-store.ts';
import type { StoreName } from '../memory/store-memory.ts';
import { type CountSeries, createTallyCounter, createTallyGauge, createTallyHistogram } from './tally.ts';
import type { ToolNames } from './tool-names.ts';

const STORE_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1];

/** Metrics of what is remembered from one batch to the next: where, and what it refuses or answers again. */
export const createSessionMetrics = (registry: Registry, toolNames: ToolNames) => ({
  loopsDetected: createTallyCounter({
    registry,
    name: 'recourse_loops_detected_total',
    help: 'Calls that the loop guard refused.',
    labelNames: ['tool'],
    toolNames,
  }),
  circuitState: createTallyGauge({
    registry,
    name: 'recourse_circuit_state',
    help: 'Worst state of the circuits of a tool: 0 closed, 1 half-open, 2 open. An open one stays so until a call tries it.',
    labelNames: ['tool'],
    toolNames,
  }),
  keyUses: createKeyUseCounter(registry),
  ...createStoreMetrics(registry),
  watchStore: createStoreWatch(registry),
});

/** Shows what the stores of this process take and forget, once they are opened; two of one name are added up. */
const createStoreWatch = (registry: Registry): ((store: StoreName, use: StoreUse) => void) => {
  const uses = new Map<StoreName, StoreUse[]>();
  const gauge = (name: string, help: string, read: (use: StoreUse) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['store'],
      registers: [registry],
      collect() {
        for (const [store, all] of uses) this.set({ store }, sumOf(all, read));
      },
    });
  gauge('recourse_store_bytes', 'What a store of this process takes of its memory.', ({ bytes }) => bytes);
  gauge('recourse_store_limit_bytes', 'What it may take before it forgets.', ({ limitBytes }) => limitBytes);
  new Counter({
    name: 'recourse_store_evictions_total',
    help: 'Entries a store of this process forgot: full, share (of the tenant that held most), expired, too_large.',
    labelNames: ['store', 'reason'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [store, all] of uses)
        for (const reason of EVICTION_REASONS)
          this.inc(
            { store, reason },
            sumOf(all, (use) => use.evictions[reason]),
          );
    },
  });
  return (store, use) => void uses.set(store, [...(uses.get(store) ?? []), use]);
};

const sumOf = (uses: readonly StoreUse[], read: (use: StoreUse) => number): number =>
  uses.reduce((sum, use) => sum + read(use), 0);

const createKeyUseCounter = (registry: Registry): Readonly<Record<KeyUse, CountSeries>> => {
  const uses = createTallyCounter({
    registry,
    name: 'recourse_idempotency_total',
    help: 'Batches with an Idempotency-Key: new, resumed, replayed, conflict, mismatch, unknown, unavailable.',
    labelNames: ['result'],
  });
  return {
    new: uses({ result: 'new' }),
    resumed: uses({ result: 'resumed' }),
    replayed: uses({ result: 'replayed' }),
    conflict: uses({ result: 'conflict' }),
    mismatch: uses({ result: 'mismatch' }),
    unknown: uses({ result: 'unknown' }),
    unavailable: uses({ result: 'unavailable' }),
  };
};

const createStoreMetrics = (registry: Registry) => ({
  storeUp: new Gauge({
    name: 'recourse_session_store_up',
    help: '1 while the session store serves, 0 while the fall-back does.',
    registers: [registry],
  }),
  storeDuration: createTallyHistogram({
    registry,
    name: 'recourse_session_store_operation_duration_seconds',
    help: 'Time of one round trip to the session store.',
    labelNames: ['operation'],
    buckets: STORE_BUCKETS,
  }),
  storeErrors: new Counter({
    name: 'recourse_session_store_errors_total',
    help: 'Round trips to the session store that failed.',
    labelNames: ['operation', 'reason'],
    registers: [registry],
  }),
  ...createSpaceMetrics(registry),
});

const createSpaceMetrics = (registry: Registry) => {
  const bytes = (name: string, help: string) =>
    new Gauge({ name: `recourse_session_store_${name}_bytes`, help, registers: [registry] });
  return {
    storeMemoryUsed: bytes('memory_used', 'Memory that Redis uses; of a cluster, on its fullest node.'),
    storeMemoryMax: bytes('memory_max', 'maxmemory of that Redis; 0 where it has none or does not tell it.'),
    storeDroppable: bytes(
      'droppable',
      'Journals and kept results in Redis: what is dropped, oldest first, to make room.',
    ),
    storeDroppableMax: bytes('droppable_max', 'How much of that Redis may hold.'),
    storeDropped: createTallyCounter({
      registry,
      name: 'recourse_session_store_dropped_total',
      help: 'Sessions and records whose journal or results were dropped from Redis to make room.',
      labelNames: ['kind'],
    }),
    storeNotKept: createTallyCounter({
      registry,
      name: 'recourse_session_store_not_kept_total',
      help: 'Batches whose journal lines or results were not kept: their tenant held its part of Redis, or Redis was nearly full.',
      labelNames: ['kind'],
    }),
  };
};
