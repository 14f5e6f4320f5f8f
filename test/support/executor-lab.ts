import { roomyMemory } from '@recourse/test-support/roomy-memory.ts';
import { pino } from 'pino';
import { createCircuitBreakers } from '#src/executor/circuit-breakers.ts';
import type { IdempotencyStore } from '#src/executor/idempotency-store.ts';
import { NO_PENDING_CALLS } from '#src/executor/pending-calls.ts';
import { NO_POLICIES, type Policies } from '#src/executor/policies.ts';
import { NO_RECONCILER } from '#src/executor/reconciler.ts';
import type { Redactor } from '#src/executor/redactor.ts';
import { createExecutor } from '#src/executor/run-batch.ts';
import type { SessionStore } from '#src/executor/session-store.ts';
import { SlotQueue } from '#src/queue/slot-queue.ts';
import { createRedactor } from '#src/redaction/service-redactor.ts';
import { createRequestSessionStore } from '#src/sessions/request-session-store.ts';
import { createCallObserver } from '#src/telemetry/call-metrics.ts';
import { createCallLog, createFailureLog } from '#src/telemetry/log-lines.ts';
import { createMetrics } from '#src/telemetry/metrics.ts';
import { createToolRegistry } from '#src/tools/registry.ts';
import type { Tool } from '#src/tools/tool.ts';

export const MAX_BATCH_CALLS = 8;
export const now = (): number => performance.now();
export const settings = {
  sessionRetries: 5,
  cooldownMs: 0,
  ttlMs: 60_000,
  maxCalls: 40,
  maxRounds: 12,
  journal: 20,
};

// A drop may be taken back before it is told.
const tellSoon = (tell: () => void): (() => void) => {
  const held = setImmediate(tell);
  return () => clearImmediate(held);
};

/** An executor with all its parts but hosts, and what its observer was told of bugs. */
export const createSubject = (
  tools: readonly Tool[],
  sessions: SessionStore,
  keys: IdempotencyStore,
  redactor: Redactor = createRedactor({ secrets: [] }),
  policies: Policies = NO_POLICIES,
) => {
  const log = pino({ level: 'silent' });
  const metrics = createMetrics('0.0.0');
  const violations: unknown[] = [];
  const observer = createCallObserver({ metrics, log, maxTools: 40, now });
  const executor = createExecutor({
    registry: createToolRegistry(tools),
    sessions,
    keys,
    pending: NO_PENDING_CALLS,
    requests: createRequestSessionStore({ settings }),
    observer: { ...observer, contractViolated: (error) => violations.push(error) },
    failureLog: createFailureLog({ log, now, createReference: () => 'reference' }),
    createLog: createCallLog(log, redactor),
    redactor,
    reconciler: NO_RECONCILER,
    policies,
    audit: null,
    slots: new SlotQueue({
      maxConcurrentCalls: 6,
      callerConcurrency: 6,
      toolConcurrency: 4,
      maxHostedCalls: 1,
      maxQueuedCalls: 5,
      now,
      busyMs: () => performance.eventLoopUtilization().active,
      afterSlice: setImmediate,
      pace: { tell: tellSoon, tellAll: () => undefined },
    }),
    runHosted: async () => {
      throw new Error('There are no hosted tools here.');
    },
    circuits: createCircuitBreakers({
      memory: roomyMemory(),
      failures: 4,
      openMs: 50,
      observer: { circuitChanged: () => undefined },
      now,
    }),
    now,
    time: Date.now,
    journal: settings.journal,
    gracefulErrors: 'on',
    maxResultBytes: 1024,
    maxAnswerBytes: 4_194_304,
    maxBatchCalls: MAX_BATCH_CALLS,
    batchConcurrency: 4,
    sessionRetries: settings.sessionRetries,
  });
  return { executor, violations };
};
