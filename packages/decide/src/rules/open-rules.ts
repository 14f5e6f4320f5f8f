import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { Executed } from 'recourse-server/contract/failure';
import type { SessionRule } from 'recourse-server/contract/session';
import type { RouteHost } from 'recourse-server/routes/route-host';
import type { StoreBackend } from 'recourse-server/sessions/store-backend';
import { describeCauses } from 'recourse-server/telemetry/describe-error';
import type { Metrics } from 'recourse-server/telemetry/metrics';
import type { ToolRegistry } from 'recourse-server/tools/registry';
import type { Rule } from '../policies/policy-settings.ts';
import { ServiceRules } from './rule-book.ts';
import { createRuleMetrics } from './rule-metrics.ts';
import { addRuleRoutes } from './rule-routes.ts';
import { RuleStore } from './rule-store.ts';

// In the memory of this process: some 100 MB where each is of a session with a few calls.
const MOST_IN_MEMORY = 100_000;

export type RulesParts = {
  readonly backend: Pick<StoreBackend, 'records' | 'durability'>;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly registry: Pick<ToolRegistry, 'list'>;
  /** Unix milliseconds. */
  readonly time: () => number;
};

/** Opens the rules of the configuration file, and what they have counted. */
export const openRules = (rules: readonly Rule[], { backend, log, metrics, registry, time }: RulesParts) => {
  const { durability, records } = backend;
  const counted = createRuleMetrics(metrics);
  const store = new RuleStore(records, { durability, most: MOST_IN_MEMORY });
  const book = new ServiceRules({
    ...{ store, time },
    onFailed: (error) => log.warn({ causes: describeCauses(error) }, 'a rule could not count'),
    decided: counted.decided,
  });
  const apply = (now: readonly Rule[]): void => {
    if (now.length > 0 && book.rules.length === 0 && durability === 'process')
      log.warn('rules count in the memory of this process: each replica by itself, and from 0 after a restart');
    book.apply(now);
  };
  apply(rules);
  return {
    book,
    apply,
    /** How the rules stand that count by session, as far as they concern tools that whoever asks may use. Rejects with the store. */
    viewSession: (sessionKey: string, mayUse: (tool: string) => boolean): Promise<readonly SessionRule[]> =>
      book.viewSession(sessionKey, (rule) => registry.list().some(({ name }) => rule.concerns(name) && mayUse(name))),
    addRoutes: (app: FastifyInstance, host: RouteHost): void =>
      addRuleRoutes(app, host, {
        findRule: (name) => book.rules.find((rule) => rule.name === name),
        forget: (key) => store.delete(key),
        onForgotten: (about) => log.info(about, 'what a rule has counted was deleted'),
      }),
    settle: (ticket: string | null | undefined, executed: Executed, isSuccess: boolean): Promise<void> =>
      ticket == null ? Promise.resolve() : book.settle(ticket, executed, isSuccess),
  };
};
