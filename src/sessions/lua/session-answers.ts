import * as z from 'zod';
import type { Budget, CallVerdict, Permit, Round, SessionRecord } from '../../executor/session-store.ts';
import type { AdmittedTool } from '../rules/admit-budgets.ts';
import { toSortedRecords } from '../rules/session-record.ts';

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

/** What admit.lua answers: born, step, a report for each tool and the calls' verdicts. */
const AdmitAnswer = z.tuple([z.string(), Count, z.array(Report), z.array(Verdict)]);
/** `reports` is null where the round is clean: every tool is free, and no call has a streak. */
export type AdmittedAnswer = {
  readonly born: string;
  readonly step: number;
  readonly reports: readonly Report[] | null;
  readonly verdicts: readonly CallVerdict[];
};

export const readAdmitAnswer = (answer: unknown): AdmittedAnswer => {
  // Without a schema, for nearly every answer is of this kind: what clean-admit.lua says.
  if (Array.isArray(answer) && answer.length === 2) {
    const [clean, rounds]: readonly unknown[] = answer;
    if (typeof clean === 'string' && typeof rounds === 'number')
      return { born: clean, step: rounds, reports: null, verdicts: NO_VERDICTS };
  }
  const [born, step, reports, verdicts] = AdmitAnswer.parse(answer);
  return { born, step, reports, verdicts: verdicts.map(toVerdict) };
};

const NO_VERDICTS: readonly CallVerdict[] = [];

/** What settle.lua answers. */
export const SettleAnswer = z.array(Report);

const ToolAnswer = z.tuple([z.string(), Count, Count, Count, Count, z.string(), Count, Count, Count]);

/** What read.lua answers. */
export const ReadAnswer = z.tuple([Count, Count, Count, z.array(ToolAnswer), z.string(), z.literal([0, 1])]);

/** The tools of a round as its answer tells of them, in the terms of the rules. */
export const toAdmittedTools = ({ tools }: Round, reports: readonly Report[]): ReadonlyMap<string, AdmittedTool> =>
  new Map(
    tools.flatMap(({ name, retries }, position) => {
      const report = reports[position];
      return report === undefined ? [] : [[name, toTool(report, retries)] as const];
    }),
  );

const toVerdict = (verdict: z.infer<typeof Verdict>): CallVerdict => {
  if (verdict[0] === 'loop') return { kind: 'loop', cause: verdict[1], times: verdict[2] };
  if (verdict[0] === 'limit') return { kind: 'limit', of: verdict[1], limit: verdict[2] };
  if (verdict.length === 1) return { kind: 'run', streak: null };
  const [, failed, same, answer] = verdict;
  return { kind: 'run', streak: { failed, same, answer: answer === '' ? '' : Number.parseInt(answer, 16) } };
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
