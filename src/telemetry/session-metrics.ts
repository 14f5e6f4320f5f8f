import { Counter, Gauge, type Registry } from 'prom-client';
import type { KeyUse } from '../executor/call-observer.ts';
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
});

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
});
