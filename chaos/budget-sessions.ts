import { setTimeout as pause } from 'node:timers/promises';
import { ToolCallsResponse, type ToolResult } from '#src/contract/tool-result.ts';
import type { Accounts } from './accounts.ts';
import { judgeRefusal } from './judge-answer.ts';
import { BUDGET_LINE } from './ledger.ts';
import { readSession } from './look-at-sessions.ts';
import type { Random } from './random.ts';
import type { Replica } from './replica.ts';
import type { Sender, Sent } from './sender.ts';

/** A session whose every round fails at one tool, and how many executions its budget allows. */
export type BudgetSession = {
  readonly id: string;
  readonly line: string;
  /** Null where Redis has no failure of it: then nothing is promised. */
  readonly allowed: number | null;
  readonly told: string;
};

export type BudgetTerms = {
  readonly sender: Sender;
  readonly replicas: readonly Replica[];
  readonly random: Random;
  readonly accounts: Accounts;
  readonly signal: AbortSignal;
};

const TOOL = 'count_and_fail';
// Three for a tool that reads, as this one says of itself.
const RETRIES = 3;
const EVERY_MS = 1200;
const FIRST_ROUNDS = 4;
const AT_ONCE = 8;
const AFTERWARDS = 2;
const DEADLINE_MS = 15_000;
// A retry whose batch never settles comes back at the end of its lease, 5 s after its deadline: the session is over by then.
const MAX_LIFE_MS = 14_000;
const PATIENCE_MS = 5000;

/** Plays such sessions one after another, overlapping, until told to stop. */
export const playBudgetSessions = async (terms: BudgetTerms): Promise<readonly BudgetSession[]> => {
  const { random, signal } = terms;
  const played: Promise<BudgetSession>[] = [];
  while (!signal.aborted) {
    played.push(playSession(`budget_${played.length}_${random.whole(0, 999_999)}`, terms));
    await pause(EVERY_MS);
  }
  return Promise.all(played);
};

/** Some rounds alone until Redis has a failure; then many at once on both replicas, and a few one by one. */
const playSession = async (id: string, terms: BudgetTerms): Promise<BudgetSession> => {
  const startedAt = performance.now();
  const line = `${BUDGET_LINE}_${id}`;
  const first: Round[] = [];
  let isKept = false;
  while (!isKept && first.length < FIRST_ROUNDS) {
    first.push(await playRound(id, line, terms));
    isKept = await isFailureKept(id, terms);
  }
  if (!isKept) return { id, line, allowed: null, told: 'no failure is in Redis' };
  const rest = await Promise.all(Array.from({ length: AT_ONCE }, () => playRound(id, line, terms)));
  for (let round = 0; round < AFTERWARDS; round += 1) {
    await pause(terms.random.whole(0, 150));
    rest.push(await playRound(id, line, terms));
  }
  const isOver = performance.now() - startedAt > MAX_LIFE_MS;
  const before = first.filter(({ ran }) => ran !== 'not').length;
  const uncounted = rest.filter(({ ran }) => ran === 'perhaps').length;
  if (uncounted + before === 1) terms.accounts.add('failing sessions in Redis throughout');
  const told = [...first, ...rest].map((round) => round.told).join(' ');
  return { id, line, allowed: isOver ? null : before + RETRIES + uncounted, told };
};

/** `perhaps`: it may have, and not by the budget in Redis. */
type Round = { readonly ran: 'counted' | 'perhaps' | 'not'; readonly told: string };

const playRound = async (id: string, line: string, { sender, random, accounts }: BudgetTerms): Promise<Round> => {
  // Always other arguments: the same would be a loop.
  const calls = [{ name: TOOL, arguments: { line, attempt: random.whole(0, 1_000_000_000) } }];
  const sent = await sender.send({
    body: JSON.stringify({ session_id: id, deadline_ms: DEADLINE_MS, calls }),
    headers: { 'content-type': 'application/json' },
    connection: 'kept',
    hangUpAfterMs: null,
    patienceMs: DEADLINE_MS + PATIENCE_MS,
  });
  const results = toResults(sent, accounts);
  return typeof results === 'string' ? { ran: results, told: results } : toRound(results[0]);
};

const toRound = (result: ToolResult | undefined): Round => {
  const mode = result?.retry?.mode ?? 'no budget';
  const told = `${result?.error?.code ?? 'ok'}/${mode}`;
  if (result?.executed === 'no') return { ran: 'not', told };
  return { ran: mode === 'redis' ? 'counted' : 'perhaps', told };
};

const toResults = (
  { exchange, requestId, isReplicaKilled }: Sent,
  accounts: Accounts,
): readonly ToolResult[] | 'perhaps' | 'not' => {
  if (exchange.kind === 'refused') return 'not';
  if (exchange.kind !== 'answered') {
    if (!isReplicaKilled && exchange.kind !== 'broken')
      accounts.offend('lost_batch', `${requestId}: the answer never came`);
    return 'perhaps';
  }
  if (exchange.status === 200) return ToolCallsResponse.parse(JSON.parse(exchange.body)).results;
  judgeRefusal(exchange, null, accounts);
  return 'not';
};

const isFailureKept = async (id: string, { replicas, random, accounts }: BudgetTerms): Promise<boolean> => {
  const view = await readSession(random.pick(replicas), id, accounts);
  const failures = view?.tools.find(({ name }) => name === TOOL)?.failures;
  return view?.session.mode === 'redis' && failures !== undefined && failures > 0;
};

/** Counts what ran in each session; `written`: lines of the ledger and how often. */
export const judgeBudgets = (
  sessions: readonly BudgetSession[],
  written: ReadonlyMap<string, number>,
  accounts: Accounts,
): void => {
  for (const { id, line, allowed, told } of sessions) {
    const ran = written.get(line) ?? 0;
    if (allowed === null) {
      accounts.add('failing sessions left out: Redis was away');
      continue;
    }
    accounts.add('failing sessions held against their budget');
    accounts.add(`failing sessions: ${ran} calls ran`);
    if (ran > allowed) accounts.offend('over_budget', `${id}: ${ran} calls ran, ${allowed} were allowed: ${told}`);
  }
};
