import { expect } from 'vitest';
import type { ToolResult } from '#src/contract/tool-result.ts';
import { type AuditRow, SITUATIONS } from '../../../scripts/tools-audit/audit-row.ts';

/** What a row's text allows to stand behind it: how many retries are left. */
const BUDGET =
  /^(?: This was attempt \d of \d; one retry is left\.| No retries are left for '\w+'\. (?:Use another tool, or say what could not be done|Find out in another way whether it took effect, or say that this is not known)\.)?$/;

const escapePattern = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** What is left of `text` behind what the row says; null where it does not begin with it. `…` is any text. */
const restBehind = (says: string, text: string): string | null => {
  const found = new RegExp(`^${says.split('…').map(escapePattern).join('[^]*?')}(?<rest>[^]*)$`).exec(text);
  return found?.groups?.['rest'] ?? null;
};

const saysIt = (says: string, text: string): boolean => BUDGET.test(restBehind(says, text) ?? 'something else');

const checkTexts = (says: string, texts: readonly string[]): void =>
  expect({ texts, isSaid: texts.some((text) => saysIt(says, text)) }, `the row says: ${says}`).toEqual({
    texts,
    isSaid: true,
  });

/** Fails where the result is not what the row says of it. */
export const checkRow = (row: AuditRow, result: ToolResult): void => {
  if (SITUATIONS[row.situation] === 'partial') checkPartial(row, result);
  else if (row.code === null) checkEmpty(row, result);
  else checkFailure(row, result);
};

const checkEmpty = ({ says }: AuditRow, result: ToolResult): void => {
  expect(result, String(result.message)).toMatchObject({ success: true, outcome: 'success', empty: true, error: null });
  checkTexts(says, [result.message ?? '']);
  const { display, count } = toAnswer(result.value);
  // The tools that every service has are older than the rule that a value says it, too.
  if (display !== undefined) expect(display).toBe(result.message);
  if (count !== undefined) expect(count).toBe(0);
};

/** What is missing stands in the value, which may hold something. */
const checkPartial = ({ says }: AuditRow, result: ToolResult): void => {
  expect(result, String(result.message)).toMatchObject({ success: true, outcome: 'success', error: null });
  expect(result.empty).not.toBe(true);
  checkTexts(says, [String(toAnswer(result.value).display)]);
};

const toAnswer = (value: unknown): { readonly display?: unknown; readonly count?: unknown } =>
  typeof value === 'object' && value !== null ? value : {};

const checkFailure = (row: AuditRow, result: ToolResult): void => {
  const { code, says, situation } = row;
  expect(result.error?.code, String(result.message)).toBe(code);
  expect(result).toMatchObject({ success: false, outcome: OUTCOMES[SITUATIONS[situation]](row) });
  // What is wrong with arguments stands in their issues, which the whole message repeats.
  const texts = code === 'invalid_arguments' ? toIssueTexts(result) : [result.message ?? ''];
  checkTexts(says, texts);
};

const toIssueTexts = ({ message, error, name }: ToolResult): readonly string[] => [
  ...(error?.issues ?? []).map((issue) => issue.message),
  (message ?? '').replace(` Fix this and call '${name}' again.`, ''),
];

const OUTCOMES = {
  empty: () => 'success',
  partial: () => 'success',
  retry: () => 'retry',
  failed: () => 'failed',
  // Of a message that may have arrived nobody knows; all else of what is upstream's may be asked again.
  upstream: ({ tool, code }) =>
    tool === 'post_slack_message' && code === 'upstream_unavailable' ? 'unknown' : 'retry',
} as const satisfies Record<string, (row: AuditRow) => string>;
