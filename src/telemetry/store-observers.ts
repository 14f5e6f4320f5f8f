import type { Logger } from 'pino';
import type { SpaceObserver, StoreObserver, StoreOperation } from '../executor/store-observer.ts';
import { describeCauses } from './describe-error.ts';
import type { Metrics } from './metrics.ts';
import { createOncePerWindow, createStories } from './repeated-lines.ts';
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

const OPERATIONS = [
  'connect',
  'admit',
  'settle',
  'read',
  'end',
  'reset',
  'late',
  'keyed',
  'pending',
  'rate',
  'page',
  'webhook',
  'space',
] as const satisfies readonly StoreOperation[];

/** Metrics of the session store, and one log line per ten seconds and reason while it fails. */
export const createStoreObserver = ({ metrics, log, now }: ObserverOptions): StoreObserver => {
  const tell = createStories(now);
  const durations = recordOf(OPERATIONS, (operation) => metrics.storeDuration({ operation }));
  metrics.storeUp.set(1);
  return {
    operationEnded: (operation, durationMs) => durations[operation].observe(durationMs / 1000),
    operationFailed: (operation, error) => {
      const reason = toReason(error);
      metrics.storeErrors.inc({ operation, reason });
      tell(reason, () => log.warn({ operation, reason, causes: describeCauses(error) }, 'session store failed'));
    },
    availabilityChanged: (state) => {
      metrics.storeUp.set(state === 'up' ? 1 : 0);
      log[state === 'up' ? 'info' : 'warn']({ state }, 'session store availability changed');
    },
  };
};

// A tenant that goes on is one story a minute; beyond so many tenants the metrics say enough.
const TENANT_LINES = { windowMs: 60_000, max: 1000 } as const;

const DROPPABLE = ['journal', 'result'] as const;

/** Metrics of the space of the shared store, and a line a minute for each tenant that holds its part of it. */
export const createSpaceObserver = ({ metrics, log, now }: ObserverOptions): SpaceObserver => {
  const dropped = recordOf(DROPPABLE, (kind) => metrics.storeDropped({ kind }));
  const refused = recordOf(DROPPABLE, (kind) => metrics.storeNotKept({ kind }));
  const isNew = createOncePerWindow(now, TENANT_LINES);
  return {
    filled: ({ used, max, droppable, droppableMax }) => {
      metrics.storeMemoryUsed.set(used);
      metrics.storeMemoryMax.set(max);
      metrics.storeDroppable.set(droppable);
      metrics.storeDroppableMax.set(droppableMax);
    },
    dropped: (what, count) => {
      dropped[what].count += count;
    },
    refused: (what, tenant) => {
      refused[what].count += 1;
      if (isNew(`refused ${tenant}`))
        log.warn({ tenant, kind: what }, 'session store has no memory for an entry of a tenant');
    },
    tenantFull: (tenant, bytes, part) => {
      if (isNew(`full ${tenant}`))
        log.warn({ tenant, bytes, part }, 'a tenant has used its share of the session store');
    },
  };
};
