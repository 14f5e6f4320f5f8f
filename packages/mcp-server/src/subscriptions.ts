import { hash } from 'node:crypto';
import type { ServerEventBus } from '@modelcontextprotocol/server';
import type { FastifyReply } from 'fastify';
import { memberOf } from 'recourse-server/contract/json-record';
import type { RouteHost } from 'recourse-server/extension';
import { draining, ProblemError } from 'recourse-server/routes/problems';
import type { CatalogueWriter } from './answer-request.ts';
import type { Exchange } from './rpc-exchange.ts';
import { createMissingTasksProblem, declaresTasks } from './tasks.ts';
import { createToolChanges } from './tool-changes.ts';

export type SubscriptionOptions = Pick<RouteHost, 'watchTools' | 'draining' | 'readings' | 'pendingTasks'> & {
  readonly writeCatalogue: CatalogueWriter;
};

// Measured: a stream that waits takes 21 KB of memory. Doubled.
const STREAM_BYTES = 40_000;

/**
 * The streams of `subscriptions/listen`, which report changes of the tools that their caller may use, until the client or
 * the service ends them. The SDK writes each stream; it reads the changes from the bus that is opened here for it.
 */
export const createSubscriptions = (options: SubscriptionOptions) => {
  const changes = createToolChanges(options.watchTools);
  const open = new Set<() => Promise<void>>();
  options.draining.addEventListener('abort', () => {
    for (const close of open) void close();
  });
  /** `close` ends the stream by a result, as the protocol has it. Throws a problem where no stream is opened. */
  return (body: unknown, exchange: Exchange, reply: FastifyReply, close: () => Promise<void>): ServerEventBus => {
    const { caller, hold } = exchange;
    refuseTaskIds(body, options);
    if (options.draining.aborted) throw draining('other');
    if (!changes.hasRoom(caller))
      throw new ProblemError(429, 'too_many_subscriptions', TOO_MANY, { 'retry-after': '60' });
    const tagOf = (): string => hash('sha256', options.writeCatalogue(exchange), 'base64url');
    return {
      publish: () => undefined,
      subscribe: (listener) => {
        // For as long as it is open: what its answer might have taken it never will.
        hold?.set(STREAM_BYTES);
        open.add(close);
        void options.readings.watch(reply).over.then(close);
        const remove = changes.add({ caller, tagOf, notify: () => listener({ kind: 'tools_list_changed' }) });
        return () => {
          open.delete(close);
          remove();
        };
      },
    };
  };
};

/** Changes of tasks are not reported: a filter for them is not granted, and is refused to a client that does not know tasks. */
const refuseTaskIds = (body: unknown, { pendingTasks }: Pick<SubscriptionOptions, 'pendingTasks'>): void => {
  const params = memberOf(body, 'params');
  if (pendingTasks === undefined || memberOf(memberOf(params, 'notifications'), 'taskIds') === undefined) return;
  if (!declaresTasks(memberOf(params, '_meta'))) throw createMissingTasksProblem();
};

const TOO_MANY =
  'Too many streams of subscriptions/listen are open. Close one, or ask tools/list again from time to time.';
