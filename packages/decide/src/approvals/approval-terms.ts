import type { Tool } from 'recourse-server/tools/tool';
import { matchesPattern } from 'recourse-server/tools/tool-override';
import type { ApprovalChoice, ApprovalRule, ApprovalSettings } from '../policies/policy-settings.ts';

type Input = Readonly<Record<string, unknown>>;

/** What the configuration file says of a call, and by which terms a person would decide of it. */
export type ApprovalTerms = Pick<ApprovalRule, 'by' | 'four_eyes' | 'expires' | 'edit'> & {
  readonly choice: ApprovalChoice;
  readonly summary: string | null;
};

/** How people decide where no rule says so. */
const STANDARD = { by: ['operator'], four_eyes: false, expires: 30 * 60_000, edit: false, summary: null } as const;

/** The first rule that matches, else the default by effects. */
export const findTerms = ({ default: byEffects, rules }: ApprovalSettings, tool: Tool, input: Input): ApprovalTerms => {
  const rule = rules.find((candidate) => isOf(candidate, tool) && candidate.when?.(input) !== false);
  if (rule === undefined) return { ...STANDARD, by: [...STANDARD.by], choice: byEffects[tool.effects] ?? 'allow' };
  const { by, four_eyes, expires, edit, summary = null, decide: choice } = rule;
  return { by, four_eyes, expires, edit, summary, choice };
};

/** Whether any call of the tool may have to be approved. */
export const mayAsk = ({ default: byEffects, rules }: ApprovalSettings, tool: Tool): boolean =>
  (byEffects[tool.effects] ?? 'allow') !== 'allow' || rules.some((rule) => rule.decide !== 'allow' && isOf(rule, tool));

const isOf = ({ tools }: ApprovalRule, { name }: Tool): boolean =>
  tools.some((pattern) => matchesPattern(name, pattern));
