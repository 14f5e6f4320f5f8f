import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import * as z from 'zod';
import type { Budget, BudgetSettings, Permit, Round, ToolOutcome } from '../executor/session-store.ts';
import type { WatchedSessionStore } from './fallback-session-store.ts';
import type { RedisClient } from './redis-client.ts';
import { isWorthSettling, toErrorLine } from './settle-round.ts';

const Counter = z.int().nonnegative();
const Report = z.tuple([
  z.enum(['free', 'retry', 'tool', 'session', 'running', '']),
  z.string(),
  Counter,
  Counter,
  Counter,
  Counter,
  z.enum(['tool', 'session']),
  z.string(),
]);
type Report = z.infer<typeof Report>;
const Admitted = z.tuple([z.string()], Report);
const Settled = z.array(Report);

/**
 * Sessions in Redis, shared by all replicas: one hash a session, one atomic script a step. A clean batch waits for
 * one command. Rejects when Redis does; a step whose answer was lost may have been applied and is never sent again.
 */
export const createRedisSessionStore = (options: {
  readonly client: RedisClient;
  readonly settings: BudgetSettings;
}): WatchedSessionStore => {
  const { client, settings } = options;
  const runAdmit = createScript(client, 'admit.lua');
  const runSettle = createScript(client, 'settle.lua');
  const terms = [String(settings.ttlMs), String(settings.sessionRetries)] as const;
  return {
    // Whoever may connect may still lack the right to run scripts: only a script that ran says that it serves.
    watch: ({ lost, back, refused }) => {
      client.onLost(lost);
      client.onReady(() => void client.call('EVAL', 'return 1', '0').then(back, refused));
    },
    admit: async (round) => {
      const [ttl, retries] = terms;
      const head = [
        round.batchId,
        round.roundId ?? '',
        whole(round.leaseMs),
        ttl,
        retries,
        String(settings.cooldownMs),
      ];
      const tools = round.tools.flatMap((tool) => [tool.name, String(tool.retries)]);
      const [born, ...reports] = Admitted.parse(await runAdmit(toKey(round.sessionKey), [...head, ...tools]));
      const settle = async (outcomes: readonly ToolOutcome[]): Promise<ReadonlyMap<string, Budget>> => {
        const words = toSettleWords(round, reports, outcomes);
        if (words.length === 0) return new Map();
        return toBudgets(Settled.parse(await runSettle(toKey(round.sessionKey), [born, ...terms, ...words])), round);
      };
      return { mode: 'redis', scope: 'session', permits: toPermits(round, reports, settings), settle };
    },
  };
};

// The whole tenant:hash is the hash tag, so that a session is one cluster slot and a tenant is many.
const toKey = (sessionKey: string): string => `recourse:{${sessionKey}}`;

const whole = (value: number): string => String(Math.ceil(value));

const toBudget = (report: Report, limit: number): Budget => {
  const [, , , failures, used, remaining, limitedBy, lastError] = report;
  return { failures, limit, used, remaining, limitedBy, lastError };
};

const toPermit = (report: Report, limit: number): Permit => {
  const budget = toBudget(report, limit);
  const [decision] = report;
  if (decision === 'free' || decision === 'retry') return { decision, budget };
  return { decision: 'denied', denial: decision === '' ? 'tool' : decision, budget };
};

// No reports: every tool is free, and the session has spent nothing.
const toPermits = (round: Round, reports: readonly Report[], settings: BudgetSettings): ReadonlyMap<string, Permit> =>
  new Map(
    round.tools.map(({ name, retries }, position) => {
      const report = reports[position];
      return [name, report === undefined ? toFreePermit(retries, settings) : toPermit(report, retries)];
    }),
  );

const toFreePermit = (limit: number, { sessionRetries }: BudgetSettings): Permit => ({
  decision: 'free',
  budget: {
    failures: 0,
    limit,
    used: 0,
    remaining: Math.min(limit, sessionRetries),
    limitedBy: sessionRetries < limit ? 'session' : 'tool',
    lastError: '',
  },
});

const NO_HOLD = ['free', '', 0] as const;

// Empty where settling cannot change a budget: such a round costs no second command. Else every tool of the round is
// named, for what is left is told of all.
const toSettleWords = (
  round: Round,
  reports: readonly Report[],
  outcomes: readonly ToolOutcome[],
): readonly string[] => {
  const outcomeOf = new Map(outcomes.map((outcome) => [outcome.name, outcome]));
  const tools = round.tools.map(({ name, retries }, position) => {
    const [decision, claimId, epoch] = reports[position] ?? NO_HOLD;
    const outcome = outcomeOf.get(name);
    const isLetIn = outcome !== undefined && (decision === 'free' || decision === 'retry');
    const isWorth = isLetIn && isWorthSettling(outcome, claimId === '' ? 'nothing' : 'a claim');
    const line = [name, String(retries), isLetIn ? decision : 'none', claimId, String(epoch), ...toWords(outcome)];
    return { isWorth, line };
  });
  return tools.some(({ isWorth }) => isWorth) ? tools.flatMap(({ line }) => line) : [];
};

const toWords = (outcome: ToolOutcome | undefined): readonly [string, string] =>
  outcome === undefined ? ['neither', ''] : [toWord(outcome), toErrorLine(outcome.error)];

const toWord = ({ failed, succeeded, interrupted }: ToolOutcome): string => {
  if (failed) return succeeded ? 'mixed' : 'failed';
  if (succeeded) return 'succeeded';
  return interrupted ? 'interrupted' : 'neither';
};

const toBudgets = (reports: readonly Report[], { tools }: Round): ReadonlyMap<string, Budget> =>
  new Map(
    reports.flatMap((report, position) => {
      const tool = tools[position];
      return tool === undefined ? [] : [[tool.name, toBudget(report, tool.retries)] as const];
    }),
  );

// EVALSHA, and EVAL where the server has lost the script: NOSCRIPT is the one error that says "certainly not applied".
const createScript = (client: RedisClient, file: string) => {
  const load = (name: string): string => readFileSync(new URL(`./${name}`, import.meta.url), 'utf8');
  const lua = `${load('budget-state.lua')}\n${load(file)}`;
  const sha = createHash('sha1').update(lua).digest('hex');
  return async (key: string, parameters: readonly string[]): Promise<unknown> => {
    try {
      return await client.call('EVALSHA', sha, '1', key, ...parameters);
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      return client.call('EVAL', lua, '1', key, ...parameters);
    }
  };
};
