import type { Logger } from 'pino';
import type { Droppable, SpaceObserver } from '../executor/store-observer.ts';
import type { Metrics } from './metrics.ts';
import type { CountSeries } from './tally.ts';

// A tenant that goes on is one story.
const LOG_EVERY_MS = 60_000;
// Beyond so many tenants a minute the metrics say enough.
const MAX_STORIES = 1000;

/** Metrics of the space of the shared store, and a line a minute for each tenant that holds its part of it. */
export const createSpaceObserver = (options: {
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly now: () => number;
}): SpaceObserver => {
  const { metrics, log, now } = options;
  const dropped = {
    journal: metrics.storeDropped({ kind: 'journal' }),
    result: metrics.storeDropped({ kind: 'result' }),
  } satisfies Record<Droppable, CountSeries>;
  const refused = {
    journal: metrics.storeNotKept({ kind: 'journal' }),
    result: metrics.storeNotKept({ kind: 'result' }),
  } satisfies Record<Droppable, CountSeries>;
  let stories = new Set<string>();
  let since = now();
  const isNew = (tenant: string): boolean => {
    if (now() - since >= LOG_EVERY_MS) {
      stories = new Set();
      since = now();
    }
    if (stories.has(tenant) || stories.size >= MAX_STORIES) return false;
    stories.add(tenant);
    return true;
  };
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
      if (isNew(`refused ${tenant}`)) log.warn({ tenant, kind: what }, 'session store has no room for a tenant');
    },
    tenantFull: (tenant, bytes, part) => {
      if (isNew(`full ${tenant}`)) log.warn({ tenant, bytes, part }, 'a tenant holds its part of the session store');
    },
  };
};
