import * as z from 'zod';
import type {
  Budget,
  CallVerdict,
  Permit,
  Round,
  SessionRecord,
  SessionSettings,
} from '../../executor/session-store.ts';
import { type AdmittedTool, toBudget } from '../rules/admit-budgets.ts';
import { findTool } from '../rules/budget-state.ts';
import { toSortedRecords } from '../rules/session-record.ts';
import { createSessionState } from '../rules/session-state.ts';

const Count = z.int().nonnegative();

// As budget-state.lua reports a tool.
const Report = z.tuple([
  z.enum(['free', 'retry', 'idle', 'tool', 'session', 'running', '']),
  z.string(),
  Count,
  Count,
  Count,
  Count,
  z.enum(['tool', 'session']),
  z.string(),
]);
type Report = z.infer<typeof Report>;

const Verdict = z.union([
  z.tuple([z.literal('run')]),
  z.tuple([z.literal('run'), Count, Count, z.string()]),
  z.tuple([z.literal('loop'), z.enum(['failed', 'same_answer']), Count]),
  z.tuple([z.literal('limit'), z.enum(['session_calls', 'session_rounds', 'tool_calls']), Count]),
]);

/** What admit.lua answers: born, step, and where something stands a report for each tool and the calls' verdicts. */
export const AdmitAnswer = z.union([
  z.tuple([z.string(), Count]),
  z.tuple([z.string(), Count, z.array(Report), z.array(Verdict)]),
]);

/** What settle.lua answers. */
export const SettleAnswer = z.array(Report);

const ToolAnswer = z.tuple([z.string(), Count, Count, Count, Count, z.string(), Count, Count, Count]);

/** What read.lua answers. */
export const ReadAnswer = z.tuple([Count, Count, Count, z.array(ToolAnswer), z.string(), z.literal([0, 1])]);

/** A round as its answer tells it, in the terms of the rules. */
export const toAdmittedTools = (
  round: Round,
  reports: readonly Report[],
  settings: SessionSettings,
): ReadonlyMap<string, AdmittedTool> =>
  new Map(
    round.tools.map(({ name, retries }, position) => {
      const report = reports[position];
      return [name, report === undefined ? toCleanTool(retries, settings) : toTool(report, retries)];
    }),
  );

export const toVerdict = (verdict: z.infer<typeof Verdict>): CallVerdict => {
  if (verdict[0] === 'loop') return { kind: 'loop', cause: verdict[1], times: verdict[2] };
  if (verdict[0] === 'limit') return { kind: 'limit', of: verdict[1], limit: verdict[2] };
  if (verdict.length === 1) return { kind: 'run', streak: null };
  const [, failed, same, answer] = verdict;
  return { kind: 'run', streak: { failed, same, answer } };
};

export const toBudgets = (reports: readonly Report[], { tools }: Round): ReadonlyMap<string, Budget> =>
  new Map(
    reports.flatMap((report, position) => {
      const tool = tools[position];
      return tool === undefined ? [] : [[tool.name, readBudget(report, tool.retries)] as const];
    }),
  );

export const toSessionRecord = (
  [rounds, calls, spent, tools, , dropped]: z.infer<typeof ReadAnswer>,
  journal: readonly string[],
): SessionRecord => ({
  mode: 'redis',
  rounds,
  calls,
  spent,
  tools: toSortedRecords(tools.map(toToolRecord)),
  journal,
  ...(dropped === 1 ? { truncated: true } : {}),
});

const toToolRecord = (tool: z.infer<typeof ToolAnswer>): SessionRecord['tools'][number] => {
  const [name, failures, used, open, failedAgoMs, lastError, calls, failed, same] = tool;
  const standing = failures > 0 ? { failedAgoMs, lastError } : { failedAgoMs: null, lastError: '' };
  return { name, failures, used, open, ...standing, calls, streak: { failed, same } };
};

const readBudget = (report: Report, limit: number): Budget => {
  const [, , , failures, used, remaining, limitedBy, lastError] = report;
  return { failures, limit, used, remaining, limitedBy, lastError };
};

const toTool = (report: Report, limit: number): AdmittedTool => {
  const [, claimId, epoch] = report;
  return { permit: toPermit(report, readBudget(report, limit)), claimId: claimId === '' ? null : claimId, epoch };
};

const toPermit = ([decision]: Report, budget: Budget): Permit => {
  if (decision === 'free' || decision === 'retry' || decision === 'idle') return { decision, budget };
  return { decision: 'denied', denial: decision === '' ? 'tool' : decision, budget };
};

const CLEAN = findTool(createSessionState(''), '');

const toCleanTool = (retries: number, { sessionRetries }: SessionSettings): AdmittedTool => ({
  permit: { decision: 'free', budget: toBudget(CLEAN, retries, sessionRetries) },
  claimId: null,
  epoch: 0,
});
