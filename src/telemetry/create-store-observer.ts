import type { Logger } from 'pino';
import type { StoreObserver, StoreOperation } from '../executor/store-observer.ts';
import { describeCauses } from './describe-error.ts';
import type { Metrics } from './metrics.ts';
import type { TimeSeries } from './tally.ts';

// An outage is one story, not one line per batch.
const LOG_EVERY_MS = 10_000;

const REASONS = [
  'READONLY',
  'LOADING',
  'BUSY',
  'MISCONF',
  'NOPERM',
  'NOAUTH',
  'WRONGPASS',
  'WRONGTYPE',
  'OOM',
  'CLUSTERDOWN',
  'MASTERDOWN',
  'NOREPLICAS',
  'TRYAGAIN',
  'NOSCRIPT',
] as const;

// What ioredis says of a cluster that it cannot reach.
const NO_CLUSTER = /Cluster isn't ready|None of startup nodes|Failed to refresh slots/;

/** Why a command failed, as one of a closed list: Redis's own error word, a time-out, or the connection. */
const toReason = (error: unknown): string => {
  const message = error instanceof Error ? error.message : '';
  const word = REASONS.find((reason) => message.startsWith(reason));
  if (word !== undefined) return word.toLowerCase();
  if (message.startsWith('Too many Cluster redirections')) return 'redirections';
  if (NO_CLUSTER.test(message)) return 'connection';
  if (message.includes('timed out')) return 'timeout';
  if (/ECONN|Connection is closed|writeable|ENOTFOUND|EPIPE/.test(message)) return 'connection';
  return 'other';
};

/** Metrics of the session store, and one log line per ten seconds and reason while it fails. */
export const createStoreObserver = (options: {
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly now: () => number;
}): StoreObserver => {
  const { metrics, log, now } = options;
  const loggedAt = new Map<string, number>();
  const durationOf = (operation: StoreOperation) => metrics.storeDuration({ operation });
  const durations = {
    connect: durationOf('connect'),
    admit: durationOf('admit'),
    settle: durationOf('settle'),
    read: durationOf('read'),
    end: durationOf('end'),
    reset: durationOf('reset'),
    late: durationOf('late'),
    keyed: durationOf('keyed'),
    rate: durationOf('rate'),
    page: durationOf('page'),
    space: durationOf('space'),
  } satisfies Record<StoreOperation, TimeSeries>;
  metrics.storeUp.set(1);
  return {
    operationEnded: (operation, durationMs) => durations[operation].observe(durationMs / 1000),
    operationFailed: (operation, error) => {
      const reason = toReason(error);
      metrics.storeErrors.inc({ operation, reason });
      if (now() - (loggedAt.get(reason) ?? Number.NEGATIVE_INFINITY) < LOG_EVERY_MS) return;
      loggedAt.set(reason, now());
      log.warn({ operation, reason, causes: describeCauses(error) }, 'session store failed');
    },
    availabilityChanged: (state) => {
      metrics.storeUp.set(state === 'up' ? 1 : 0);
      log[state === 'up' ? 'info' : 'warn']({ state }, 'session store availability changed');
    },
  };
};
