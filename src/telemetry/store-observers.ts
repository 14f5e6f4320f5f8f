import type { Logger } from 'pino';
import type { Sealing, UnopenedReason } from '../store/seals.ts';
import {
  type Keepable,
  type SpaceObserver,
  STORE_OPERATIONS,
  type StoreFill,
  type StoreObserver,
} from '../store/store-observer.ts';
import { describeCauses } from './describe-error.ts';
import type { Metrics } from './metrics.ts';
import { createLineLimiter } from './repeated-lines.ts';
import { recordOf } from './tally.ts';

type ObserverOptions = { readonly metrics: Metrics; readonly log: Logger; readonly now: () => number };

// Redis's own words.
const REASON =
  /^(?:READONLY|LOADING|BUSY|MISCONF|NOPERM|NOAUTH|WRONGPASS|WRONGTYPE|OOM|CLUSTERDOWN|MASTERDOWN|NOREPLICAS|TRYAGAIN|NOSCRIPT)/;

// What ioredis says of a cluster that it cannot reach.
const NO_CLUSTER = /Cluster isn't ready|None of startup nodes|Failed to refresh slots/;

/** Why a command failed, as one of a closed list: Redis's own error word, a time-out, or the connection. */
const toReason = (error: unknown): string => {
  const message = error instanceof Error ? error.message : '';
  const word = REASON.exec(message)?.[0];
  if (word !== undefined) return word.toLowerCase();
  if (message.startsWith('Too many Cluster redirections')) return 'redirections';
  if (NO_CLUSTER.test(message)) return 'connection';
  if (message.includes('timed out')) return 'timeout';
  if (/ECONN|Connection is closed|writeable|ENOTFOUND|EPIPE/.test(message)) return 'connection';
  return 'other';
};

/** Metrics of the session store, and one log line per ten seconds and reason while it fails. */
export const createStoreObserver = ({ metrics, log, now }: ObserverOptions): StoreObserver => {
  const writeLimited = createLineLimiter(now);
  const durations = recordOf(STORE_OPERATIONS, (operation) => metrics.storeDuration({ operation }));
  metrics.storeUp.set(1);
  return {
    operationEnded: (operation, durationMs) => durations[operation].observe(durationMs / 1000),
    operationFailed: (operation, error) => {
      const reason = toReason(error);
      metrics.storeErrors.inc({ operation, reason });
      writeLimited(reason, () =>
        log.warn({ operation, reason, causes: describeCauses(error) }, 'session store failed'),
      );
    },
    availabilityChanged: (state) => {
      metrics.storeUp.set(state === 'up' ? 1 : 0);
      log[state === 'up' ? 'info' : 'warn']({ state }, 'session store availability changed');
    },
  };
};

const NOT_STORED_LINE_MS = 60_000;

const KEEPABLE = [
  'journals',
  'results',
  'pending_results',
  'arguments',
  'deliveries',
  'index',
] as const satisfies readonly Keepable[];

const LIMITS = ['store', 'tenant'] as const;
const FULL = {
  store: 'the store is nearly full: this kind is not kept',
  tenant: 'a tenant keeps its part of the store: more of this kind is not kept',
} as const;

/**
 * Metrics of the space of the store, a line for each policy that evicts, and one a minute and tenant while something is not
 * kept.
 */
export const createSpaceObserver = ({ metrics, log, now }: ObserverOptions): SpaceObserver => {
  const notKept = recordOf(KEEPABLE, (kind) => recordOf(LIMITS, (limit) => metrics.storeNotKept({ kind, limit })));
  const writeLimited = createLineLimiter(now, NOT_STORED_LINE_MS);
  let policy: StoreFill['policy'] = null;
  return {
    filled: (fill) => {
      metrics.storeMemoryUsed.set(fill.used);
      metrics.storeMemoryMax.set(fill.max);
      if (fill.policy === policy) return;
      policy = fill.policy;
      if (policy !== null && policy !== 'noeviction')
        log.warn({ policy }, 'Redis may evict budgets and marks of writes: set its maxmemory-policy to noeviction');
    },
    notKept: (kind, limit, tenant) => {
      notKept[kind][limit].count += 1;
      const of = limit === 'tenant' ? { tenant } : {};
      writeLimited(`${kind} ${limit} ${of.tenant}`, () => log.warn({ kind, ...of }, FULL[limit]));
    },
  };
};

/** Counts what is found in the store and must not be acted on, and writes one line per ten seconds, kind and reason. */
export const createUnopenedObserver = ({ metrics, log, now }: ObserverOptions): Sealing['onUnopened'] => {
  const writeLimited = createLineLimiter(now);
  return (kind, problem) => {
    metrics.storeUnopened[problem].count += 1;
    writeLimited(`${kind} ${problem}`, () => log.error({ kind, problem }, UNOPENED_TEXT[problem]));
  };
};

const UNOPENED_TEXT = {
  key_missing: 'record left alone: STORE_KEYS lacks the key that it is sealed with',
  not_sealed: 'record not acted on: it is not sealed, and STORE_SEALED is required',
  not_authentic: 'record not acted on: its seal does not fit',
  damaged: 'record not acted on: it cannot be read',
} as const satisfies Record<UnopenedReason, string>;
