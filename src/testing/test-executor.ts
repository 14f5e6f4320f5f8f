import { performance as eventLoop } from 'node:perf_hooks';
import { createCircuitBreakers } from '../executor/circuit/create-circuit-breakers.ts';
import type { Redactor } from '../executor/redactor.ts';
import { createExecutor, type Executor } from '../executor/run-batch.ts';
import type { RunHosted } from '../executor/run-hosted.ts';
import type { SessionStore } from '../executor/session-store.ts';
import { SILENT_OBSERVER } from '../executor/silent-observer.ts';
import { createStoreMemory } from '../memory/store-memory.ts';
import { createCallSlots } from '../queue/call-slots.ts';
import { createRefusalPace } from '../queue/refusal-pace.ts';
import { createRedactor } from '../redaction/redactor.ts';
import { createRunReducer } from '../session-view/create-run-reducer.ts';
import { createSessionReader, type ReadSession } from '../session-view/create-session-reader.ts';
import { createMemoryKeyedStore } from '../sessions/keyed/memory-keyed-store.ts';
import { createMemorySessionStore, createRequestSessionStore } from '../sessions/memory-session-store.ts';
import { createToolRegistry } from '../tools/registry.ts';
import type { InlineTool } from '../tools/tool.ts';
import { SERVICE_DEFAULTS } from './service-defaults.ts';
import type { ExecutorClock } from './test-clock.ts';
import type { TestLog } from './test-log.ts';

/** An executor as a service with embedded stores has it, and what it knows of sessions. */
export type TestExecutor = Executor & { readonly readSession: ReadSession };

// A test keeps a few sessions; the stores must not take more of the heap than a service of 200 MB gives them.
const STORE_BYTES = 64_000_000;

const SESSION_SETTINGS = {
  sessionRetries: SERVICE_DEFAULTS.sessionRetries,
  cooldownMs: SERVICE_DEFAULTS.cooldownMs,
  ttlMs: SERVICE_DEFAULTS.sessionTtlMs,
  maxCalls: SERVICE_DEFAULTS.sessionMaxCalls,
  maxRounds: SERVICE_DEFAULTS.sessionMaxRounds,
  journal: SERVICE_DEFAULTS.journal,
};

/** Puts together what runs calls in a service: all of it but HTTP, access, tool hosts, Redis, metrics and the file log. */
export const createTestExecutor = (tools: readonly InlineTool[], clock: ExecutorClock, log: TestLog): TestExecutor => {
  const now = clock.moment;
  const memory = createStoreMemory({ totalBytes: STORE_BYTES });
  const redactor = createRedactor({ secrets: [] });
  const registry = createToolRegistry(tools);
  const sessions = createMemorySessionStore({ mode: 'memory', settings: SESSION_SETTINGS, memory, now });
  const executor = createExecutor({
    ...SERVICE_DEFAULTS,
    registry,
    sessions,
    keys: createMemoryKeyedStore({ memory, now }),
    requests: createRequestSessionStore({ settings: SESSION_SETTINGS, now }),
    slots: createSlots(now),
    circuits: createCircuitBreakers({
      failures: SERVICE_DEFAULTS.circuitFailures,
      openMs: SERVICE_DEFAULTS.circuitOpenMs,
      observer: { circuitChanged: () => undefined },
      memory,
      now,
    }),
    runHosted: NO_HOSTS,
    observer: SILENT_OBSERVER,
    failureLog: { write: log.writeFailure },
    createLog: log.createLog,
    redactor,
    now,
    startTimer: clock.startTimer,
    time: clock.now,
  });
  return { ...executor, readSession: createReader(sessions, registry, redactor, now) };
};

// The event loop is that of Node also where a test has put another `performance` in its place.
const createSlots = (now: () => number) =>
  createCallSlots({
    toolConcurrency: SERVICE_DEFAULTS.toolConcurrency,
    callerConcurrency: SERVICE_DEFAULTS.callerConcurrency,
    maxConcurrentCalls: SERVICE_DEFAULTS.maxConcurrentCalls,
    maxHostedCalls: SERVICE_DEFAULTS.maxConcurrentCalls,
    maxQueuedCalls: SERVICE_DEFAULTS.maxQueuedCalls,
    pace: createRefusalPace({ now, later: setTimeout }),
    now,
    busyMs: () => eventLoop.eventLoopUtilization().active,
    nextTurn: setImmediate,
  });

const createReader = (
  sessions: SessionStore,
  registry: ReturnType<typeof createToolRegistry>,
  redactor: Redactor,
  now: () => number,
): ReadSession =>
  createSessionReader({
    sessions,
    findTool: registry.find,
    reducers: registry.reducers,
    runReducer: createRunReducer({
      runHosted: NO_HOSTS,
      maxResultBytes: SERVICE_DEFAULTS.maxResultBytes,
      redactor,
      now,
    }),
    settings: SESSION_SETTINGS,
  });

const NO_HOSTS: RunHosted = () => Promise.reject(new Error('A tester runs every tool in this process.'));
