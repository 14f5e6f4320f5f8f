import type { CallKind } from '../bodies.ts';
import { TROUBLES } from '../forms.ts';
import type { LanePlan } from './slice-plan.ts';

/** Whether an answer is what its batch gives reason for. */
export type Verdict = 'right' | 'warned' | 'wrong';

const OK = 'HTTP/1.1 200 ';
const WARNINGS = '"warnings":[';
// Redis was late: a write is refused, everything else goes on with a warning.
const NO_STORE = '"code":"store_unavailable"';
const SUCCESS = '"success":true';

const FAILURES: ReadonlyMap<CallKind, string> = new Map([
  ['failing', '"code":"invalid_arguments"'],
  ['missing', '"code":"tool_exception"'],
  ['unknown', '"code":"unknown_tool"'],
  ['unknown_new', '"code":"unknown_tool"'],
]);

/** The text that stands in an answer once for each call that came to what its kind says. */
const markOf = ({ form, kind }: LanePlan): string => {
  if (form.startsWith('mcp')) return '"structuredContent":{';
  if (form.startsWith('anthropic')) return '"tool_use_id":';
  if (form.startsWith('chat')) return '"tool_call_id":';
  return FAILURES.get(kind) ?? SUCCESS;
};

/** Looks for texts and parses nothing: the load must be faster than what it measures. */
export const createJudge = (plan: LanePlan): ((answer: string) => Verdict) => {
  const mark = markOf(plan);
  const troubles = TROUBLES[plan.form];
  return (answer) => {
    if (answer.startsWith(OK) && answer.includes(NO_STORE)) return 'warned';
    if (!answer.startsWith(OK) || countOf(mark, answer) !== plan.calls) return 'wrong';
    if (answer.includes(WARNINGS)) return 'warned';
    return troubles.some((trouble) => answer.includes(trouble)) ? 'wrong' : 'right';
  };
};

const countOf = (mark: string, text: string): number => {
  let count = 0;
  for (let at = text.indexOf(mark); at !== -1; at = text.indexOf(mark, at + mark.length)) count += 1;
  return count;
};
