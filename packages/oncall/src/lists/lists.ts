import type { FastifyInstance } from 'fastify';
import type { AllowedTools } from 'recourse-server/auth/callers';
import type { Config } from 'recourse-server/config/settings/config';
import { newestFirst } from 'recourse-server/routes/list-page';
import type { RouteHost } from 'recourse-server/routes/route-host';
import type { Metrics } from 'recourse-server/telemetry/metrics';
import { createDefinitions } from 'recourse-server/telemetry/tally';
import type { SessionItem } from '../contract/contract.ts';
import { CallIndex, type CallIndexOptions, type DropReason, type TenantIndex } from './call-index.ts';
import { CallNotes } from './call-notes.ts';
import { addListRoutes, type ListedSession, type ListRoutesOptions } from './list-routes.ts';
import { describeSession } from './session-part.ts';

/** What the lists need of the service. */
export type ListParts = Pick<ListRoutesOptions, 'hasResults' | 'findPending'> &
  Pick<CallIndexOptions, 'backend' | 'redactor' | 'time'> & { readonly metrics: Metrics };

export type Lists = ReturnType<ReturnType<typeof beginLists>['open']>;

const MOST_BLOCKED = 10;
const MOST_IDS = 10_000;

/** Counts what lists lack; adds its metric to those of the service. */
export const createListMetrics = ({ registry, toolNames }: Metrics) =>
  createDefinitions(registry, toolNames).countBy(
    'oncall_lines_dropped_total',
    'Sessions and failures that lists lack: more came than a second may have, or than may wait (flood), the store has no room for them (room), it failed, or was too slow for the end of a process (store).',
    'reason',
    ['flood', 'room', 'store'] as const satisfies readonly DropReason[],
  );

/** Begins to note sessions and failures, before there is a store. */
export const beginLists = () => {
  const notes = new CallNotes();
  const open = (config: Config, { replica, ...parts }: ListParts & { readonly replica: string }) => {
    const { backend, redactor, time, metrics } = parts;
    const dropped = createListMetrics(metrics);
    const ids = new Map<string, string>();
    const index = new CallIndex(notes, {
      ...{ backend, redactor, time, replica },
      idOf: (sessionKey) => ids.get(sessionKey) ?? null,
      onDropped: (reason, lines) => {
        dropped[reason].count += lines;
      },
    });
    const terms = {
      cooldownMs: config.SESSION_BUDGET_COOLDOWN_SECONDS * 1000,
      ttlMs: config.SESSION_TTL_SECONDS * 1000,
    };
    const listSessions = ({ sessions }: TenantIndex, { tools, mayUse }: AllowedTools): readonly ListedSession[] => {
      const viewer = { tools, mayUse, now: time() };
      const listed: ListedSession[] = [];
      for (const [id, part] of sessions) {
        const item = describeSession(id, part, terms, viewer);
        if (item !== null) listed.push({ id, at: part.lastAt, item });
      }
      return listed.toSorted(newestFirst);
    };
    const part = {
      addRoutes: (app: FastifyInstance, host: RouteHost): void =>
        addListRoutes(app, host, { ...parts, read: index.read, listSessions }),
      start: (): void => index.start(),
      close: (): Promise<void> => index.close(),
    };
    return {
      part,
      /** How many sessions fail now, and the latest ten that have a blocked tool. Rejects with the store. */
      summary: async (
        tenant: string,
        allowed: AllowedTools,
      ): Promise<{ readonly failing: number; readonly blocked: SessionItem[] }> => {
        const items = listSessions(await index.read(tenant), allowed).map(({ item }) => item);
        return {
          failing: items.filter(({ state }) => state === 'failing').length,
          blocked: items.filter(({ state }) => state === 'blocked').slice(0, MOST_BLOCKED),
        };
      },
      sessions: {
        /** The hashes of the listed sessions of a tenant that begin so, two at most. Rejects with the store. */
        find: async (tenant: string, prefix: string): Promise<readonly string[]> => {
          const { sessions } = await index.read(tenant);
          return [...sessions.keys()].filter((hash) => hash.startsWith(prefix)).slice(0, 2);
        },
        /** A session was ended, or the budget of a tool of it was reset, of all of them with null. */
        ended: index.ended,
        reset: index.reset,
        /** Tells which id a session key was made of; left out: nobody needs that. */
        named:
          config.SESSION_IDS === 'hash'
            ? undefined
            : (sessionKey: string, id: string): void => {
                const [oldest] = ids.size < MOST_IDS ? [] : ids.keys();
                if (oldest !== undefined) ids.delete(oldest);
                ids.set(sessionKey, redactor.cut(id, 256, 'log'));
              },
      },
    };
  };
  return { watch: notes.watch, open };
};
