import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import * as z from 'zod';
import type { Budget, BudgetSettings, Permit, Round, SessionStore, ToolOutcome } from '../executor/session-store.ts';
import type { RedisClient } from './redis-client.ts';

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
}): SessionStore => {
  const { client, settings } = options;
  const runAdmit = createScript(client, 'admit.lua');
  const runSettle = createScript(client, 'settle.lua');
  const terms = [String(settings.ttlMs), String(settings.sessionRetries)] as const;
  return {
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
        const settling = toSettleArguments(round, reports, outcomes);
        if (settling.length === 0) return new Map();
        const answer = await runSettle(toKey(round.sessionKey), [
          born,
          ...terms,
          ...settling.flatMap((one) => one.words),
        ]);
        return toBudgets(Settled.parse(answer), settling);
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

// No reports: every tool is free and nothing stands against it.
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

type Settling = { readonly name: string; readonly retries: number; readonly words: readonly string[] };

// A first attempt of a round without a name that ran clean changes nothing: it is not sent at all.
const toSettleArguments = (
  round: Round,
  reports: readonly Report[],
  outcomes: readonly ToolOutcome[],
): readonly Settling[] => {
  const isClean = reports.length === 0 && outcomes.every(({ failed, interrupted }) => !failed && !interrupted);
  if (isClean) return [];
  const positions = new Map(round.tools.map(({ name }, position) => [name, position]));
  return outcomes.flatMap((outcome) => {
    const position = positions.get(outcome.name) ?? -1;
    const tool = round.tools[position];
    if (tool === undefined) return [];
    const [decision, claimId, epoch] = reports[position] ?? (['free', '', 0] as const);
    if (decision !== 'free' && decision !== 'retry') return [];
    const retries = String(tool.retries);
    const words = [tool.name, retries, decision, claimId, String(epoch), toWord(outcome), toLine(outcome.error)];
    return [{ name: tool.name, retries: tool.retries, words }];
  });
};

const MAX_ERROR_LENGTH = 200;
const toLine = (error: string): string => error.slice(0, MAX_ERROR_LENGTH);

const toWord = ({ failed, succeeded, interrupted }: ToolOutcome): string => {
  if (failed) return succeeded ? 'mixed' : 'failed';
  if (succeeded) return 'succeeded';
  return interrupted ? 'interrupted' : 'neither';
};

const toBudgets = (reports: readonly Report[], settling: readonly Settling[]): ReadonlyMap<string, Budget> =>
  new Map(
    settling.flatMap(({ name, retries }, position) => {
      const report = reports[position];
      return report === undefined ? [] : [[name, toBudget(report, retries)] as const];
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
