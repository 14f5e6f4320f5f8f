import { collectDefaultMetrics, Registry } from 'prom-client';
import type { KeyUse } from '../executor/call-observer.ts';
import { EVICTION_REASONS, type StoreUse } from '../memory/bounded-store.ts';
import type { StoreName } from '../memory/store-memory.ts';
import { UNOPENED } from '../store/seals.ts';
import { createJobMetrics } from './job-metrics.ts';
import { createOverloadMetrics, createProcessMetrics } from './overload-metrics.ts';
import { createDefinitions, type Define } from './tally.ts';
import { createToolNames } from './tool-series.ts';

const CALL_BUCKETS = [0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];
const REQUEST_BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
const SIZE_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
const STORE_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1];

// promtool check metrics refuses these three: gauges whose names end in _total.
const MISNAMED_DEFAULTS = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];

export type Metrics = ReturnType<typeof createMetrics>;

/** All metrics of the service in a registry of their own. docs/metrics.md is made from it. `now` tells when tools go. */
export const createMetrics = (version: string, now: () => number = () => performance.now()) => {
  const registry = new Registry();
  const toolNames = createToolNames({ now });
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED_DEFAULTS) registry.removeSingleMetric(name);
  const define = createDefinitions(registry, toolNames);
  define
    .gauge('build_info', 'Always 1; the labels name the running version.', ['version', 'node'])
    .set({ version, node: process.version }, 1);
  return {
    registry,
    toolNames,
    ...createCallMetrics(define),
    ...createOverloadMetrics(define),
    ...createProcessMetrics(define),
    ...createJobMetrics(define),
    httpRequests: define.counter('http_requests_total', 'HTTP requests answered.', ['method', 'route', 'status_code']),
    httpDuration: define.histogram(
      'http_request_duration_seconds',
      'Time from the request headers to the end of the response.',
      ['method', 'route', 'status_code'],
      REQUEST_BUCKETS,
    ),
    ...createSessionMetrics(define),
    ...createAccessMetrics(define),
    ...createUpstreamMetrics(define),
    ...createWebhookMetrics(define),
  };
};

const createCallMetrics = ({ counter, count, histogram }: Define) => ({
  toolCalls: counter('tool_calls_total', 'Calls answered, by outcome; code is ok on success.', [
    'tool',
    'outcome',
    'code',
    'fault',
  ]),
  toolCallFailures: counter('tool_call_failures_total', 'Results with success false, which HTTP answers with 200.', [
    'tool',
    'code',
    'fault',
  ]),
  toolCallDuration: histogram(
    'tool_call_duration_seconds',
    'Time from the start of a handler to its answer.',
    ['tool', 'outcome'],
    CALL_BUCKETS,
  ),
  batchSize: histogram('batch_size', 'Calls in an accepted batch.', [], SIZE_BUCKETS),
  batchOverhead: histogram(
    'batch_overhead_seconds',
    'Time of a batch minus that of its slowest handler.',
    [],
    CALL_BUCKETS,
  ),
  budgetDecisions: counter(
    'retry_budget_decisions_total',
    'Rounds admitted or refused, per tool: free, retry, denied.',
    ['tool', 'decision', 'mode'],
  ),
  budgetExhausted: counter('retry_budget_exhausted_total', 'Rounds refused because no retries were left.', [
    'tool',
    'scope',
  ]),
  fatalFailures: counter('fatal_failures_total', 'Failures of tools that opted out of graceful errors.', ['tool']),
  dryRuns: counter('dry_runs_total', 'Calls of dry runs, by what they would do. None of them has run.', [
    'tool',
    'would',
  ]),
  callsAccepted: count('pending_calls_accepted_total', 'Calls accepted that may end after their request.'),
  lateResults: counter('late_results_total', 'Handlers that ended after their call was answered.', ['tool', 'ended']),
  deadlineOverruns: counter('deadline_overruns_total', 'Calls answered more than 250 ms after their time limit.', [
    'tool',
  ]),
  contractViolations: count('contract_violations_total', 'Bugs caught by the last-resort handler. Must stay 0.'),
});

const KEY_USES = [
  'new',
  'resumed',
  'replayed',
  'joined',
  'conflict',
  'mismatch',
  'unknown',
  'unavailable',
] as const satisfies readonly KeyUse[];

/** Metrics of what is remembered from one batch to the next: where, and what it refuses or answers again. */
const createSessionMetrics = (define: Define) => {
  const { counter, gauge } = define;
  return {
    pendingErrors: define.count(
      'pending_errors_total',
      'Steps on records or jobs of pending calls that failed and are tried again.',
    ),
    workerCalls: define.countBy(
      'worker_calls_total',
      'Pending calls that this process took, by how that ended.',
      'end',
      ['committed', 'lost', 'given_back', 'not_run', 'keys_unknown'],
    ),
    leasesTakenOver: define.count(
      'pending_leases_taken_over_total',
      'Pending calls that this process took because the lease of their last worker had lapsed.',
    ),
    loopsDetected: counter('loops_detected_total', 'Calls that the loop guard refused.', ['tool']),
    circuitState: define.tallyGauge(
      'circuit_state',
      'Worst state of the circuits of a tool: 0 closed, 1 half-open, 2 open until a call probes it.',
      ['tool'],
    ),
    keyUses: define.countBy(
      'idempotency_total',
      'Batches with an Idempotency-Key, and writes whose call id is their key: new, resumed, replayed, joined, conflict, mismatch, unknown, unavailable.',
      'result',
      KEY_USES,
    ),
    storeUp: gauge('session_store_up', '1 while the session store is in use, 0 while the fallback is.'),
    storeDuration: define.histogram(
      'session_store_operation_duration_seconds',
      'Time of one round trip to the session store.',
      ['operation'],
      STORE_BUCKETS,
    ),
    storeErrors: define.plainCounter('session_store_errors_total', 'Round trips to the session store that failed.', [
      'operation',
      'reason',
    ]),
    storeConflicts: define.count(
      'session_store_conflicts_total',
      'Updates that were decided again because another replica had changed the record.',
    ),
    ...createStoreSpaceMetrics(define),
    watchStore: createStoreWatch(define),
  };
};

/** Metrics of what a store holds: how full it is, and what was not written or not acted on. */
const createStoreSpaceMetrics = ({ counter, countBy, gauge }: Define) => {
  const bytes = (name: string, help: string) => gauge(`session_store_${name}_bytes`, help);
  return {
    storeMemoryUsed: bytes(
      'memory_used',
      'What the store uses: memory of Redis, of a cluster on its fullest node, or space of the file.',
    ),
    storeMemoryMax: bytes(
      'memory_max',
      'maxmemory of that Redis (REDIS_MEMORY_MB if it has none or does not report it), or what the file may grow to on its disk.',
    ),
    storeNotKept: counter(
      'session_store_not_kept_total',
      'Times that something (journals, results, pending_results, arguments, deliveries, index) was not stored because the store was nearly full, or its tenant kept its part of it.',
      ['kind', 'limit'],
    ),
    storeUnopened: countBy(
      'session_store_unopened_total',
      'Pending calls and webhook messages in the store that were not acted on: their key is missing, they are not sealed, not authentic or damaged.',
      'problem',
      UNOPENED,
    ),
  };
};

/** Shows what the stores of this process take and forget, once they are opened; two of one name are added up. */
const createStoreWatch = ({ gauge, plainCounter }: Define): ((store: StoreName, use: StoreUse) => void) => {
  const usesOf = new Map<StoreName, StoreUse[]>();
  const showSum = (name: string, help: string, read: (use: StoreUse) => number) =>
    gauge(name, help, ['store'], (shown) => {
      for (const [store, uses] of usesOf) shown.set({ store }, sumOf(uses, read));
    });
  showSum('store_bytes', 'Memory that a store of this process uses.', ({ bytes }) => bytes);
  showSum(
    'store_limit_bytes',
    'Memory limit of a store of this process, above which it evicts entries.',
    ({ limitBytes }) => limitBytes,
  );
  plainCounter(
    'store_evictions_total',
    'Entries evicted from a store of this process: full, share (of the tenant that uses most), expired, too_large.',
    ['store', 'reason'],
    (evictions) => {
      for (const [store, uses] of usesOf)
        for (const reason of EVICTION_REASONS)
          evictions.inc(
            { store, reason },
            sumOf(uses, (use) => use.evictions[reason]),
          );
    },
  );
  return (store, use) => void usesOf.set(store, [...(usesOf.get(store) ?? []), use]);
};

const sumOf = (uses: readonly StoreUse[], read: (use: StoreUse) => number): number =>
  uses.reduce((sum, use) => sum + read(use), 0);

// Why a request was refused before it was read: nobody was found behind its credential (401), the credential does not allow
// what it asks for (403), it comes from an origin that may not call (403), or who sent it could not be told (503).
const ACCESS_REFUSALS = [
  'missing',
  'unknown',
  'expired',
  'invalid_token',
  'operation',
  'origin',
  'unavailable',
] as const;

/** Metrics of who may call, how often, and of what must not be seen. */
const createAccessMetrics = ({ count, countBy, gauge, tallyGauge }: Define) => ({
  accessRefused: countBy(
    'access_refused_total',
    'Requests refused by authentication: missing, unknown, expired, invalid_token (401), operation, origin (403), unavailable (503).',
    'reason',
    ACCESS_REFUSALS,
  ),
  rateLimited: count('rate_limited_total', 'Requests answered 429.'),
  rateLimitErrors: count(
    'rate_limit_errors_total',
    'Requests whose rate was counted in this process because Redis was unavailable.',
  ),
  apiKeys: gauge('api_keys', 'API keys loaded, expired ones included.'),
  apiKeyFileRefused: tallyGauge(
    'api_key_file_refused',
    '1 while API_KEYS_FILE is invalid and previous keys hold.',
    [],
  )({}),
  apiKeyReloads: countBy('api_key_reloads_total', 'Changes of API_KEYS_FILE: taken, refused (invalid).', 'result', [
    'taken',
    'refused',
  ]),
  secretsRedacted: countBy('secrets_redacted_total', 'Texts in which a secret was redacted, by destination.', 'place', [
    'result',
    'journal',
    'log',
    'span',
  ]),
});

/** How a place stands that tools come from: an MCP server, an API. */
export type UpstreamSample = {
  readonly name: string;
  readonly status: 'connecting' | 'up' | 'down' | 'held';
  readonly tools: number;
  readonly reconnects: number;
};

/** Where this service has tools from, as far as they come from elsewhere, and the file that says so. */
const createUpstreamMetrics = ({ gauge, plainCounter }: Define) => {
  let sample = (): readonly UpstreamSample[] => [];
  const perUpstream = (name: string, help: string, readValue: (upstream: UpstreamSample) => number) =>
    gauge(name, help, ['upstream'], (shown) => {
      // One that is no longer configured has no series.
      shown.reset();
      for (const upstream of sample()) shown.set({ upstream: upstream.name }, readValue(upstream));
    });
  perUpstream(
    'upstream_up',
    '1 while an MCP server is connected, or the document of an OpenAPI import is loaded.',
    (one) => (one.status === 'up' || one.status === 'held' ? 1 : 0),
  );
  perUpstream('upstream_tools', 'Tools that an upstream provides now.', ({ tools }) => tools);
  plainCounter(
    'upstream_reconnects_total',
    'Reconnections to an upstream after its connection was lost.',
    ['upstream'],
    (reconnects) => {
      for (const upstream of sample()) reconnects.inc({ upstream: upstream.name }, upstream.reconnects);
    },
  );
  let isConfigFileRefused = (): boolean => false;
  gauge(
    'config_file_refused',
    '1 while the configuration file is invalid and its previous version holds.',
    [],
    (refused) => refused.set(isConfigFileRefused() ? 1 : 0),
  );
  return {
    /** From now on the upstreams are asked at every scrape. */
    showUpstreamsBy: (samples: typeof sample): void => {
      sample = samples;
    },
    showConfigFileBy: (isRefused: () => boolean): void => {
      isConfigFileRefused = isRefused;
    },
  };
};

/** Metrics of messages to webhook endpoints. The names of endpoints are those of the configuration file. */
const createWebhookMetrics = ({ counter, tallyGauge }: Define) => ({
  webhookDeliveries: counter(
    'webhook_deliveries_total',
    'Attempts to deliver a webhook message: delivered, retried, given_up, disabled (the endpoint answered 410).',
    ['endpoint', 'result'],
  ),
  webhooksWaiting: tallyGauge(
    'webhooks_waiting',
    'Webhook messages that wait, at all processes that share the store.',
    ['endpoint'],
  ),
});

// Scrapers come every few seconds; who comes more often gets what was collected a moment ago.
const SHARED_MS = 1000;

/** Runs `collect` once at a time; its text answers whoever asks while it runs and for `sharedMs` after. A rejection is not kept. */
export const shareCollection = (
  collect: () => Promise<string>,
  now: () => number,
  sharedMs = SHARED_MS,
): (() => Promise<string>) => {
  let current: Promise<string> | null = null;
  let staleAt = Number.POSITIVE_INFINITY;
  const forget = (): void => {
    current = null;
  };
  return () => {
    if (now() >= staleAt) forget();
    if (current !== null) return current;
    staleAt = Number.POSITIVE_INFINITY;
    current = collect();
    current.then(() => {
      staleAt = now() + sharedMs;
    }, forget);
    return current;
  };
};
