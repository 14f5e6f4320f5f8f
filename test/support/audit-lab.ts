import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import type { ToolResult } from '#src/contract/tool-result.ts';
import { OWN_EXTENSIONS } from '#src/packages.ts';
import {
  type AuditRow,
  SITUATIONS,
  type Situation,
  type ToolkitAudit,
  toRowName,
} from '../../scripts/tools-audit/audit-row.ts';

/** Brings a tool of the whole service into the situation of a row and gives what it answers there. */
export type Arrangement = (lab: AuditLab) => Promise<ToolResult>;

/** Row name → how to get there. */
export type Arrangements = Readonly<Record<string, Arrangement>>;

export type AuditLab = {
  /** A service with every group of tools and nothing else set up; the same for all. */
  readonly bare: () => Promise<RunningService>;
  /** A service with these settings, which ends with the test. */
  readonly serve: (settings: Readonly<Record<string, string>>) => Promise<RunningService>;
  /** A directory with these files, which ends with the test. */
  readonly directory: (files: Readonly<Record<string, string | Uint8Array>>) => Promise<string>;
  readonly close: () => Promise<void>;
};

// Each row has its own service or shares one with others: no breaker may remember one row for the next.
const SETTINGS = {
  TOOL_GROUPS: [...OWN_EXTENSIONS.groups.keys()].join(','),
  CIRCUIT_FAILURES: '0',
  LOG_LEVEL: 'silent',
  // No row of another tool waits until the sandbox has been tried out.
  SHELL_BWRAP_PATH: '/nowhere/bwrap',
};

export const createAuditLab = (): AuditLab => {
  let bare: Promise<RunningService> | undefined;
  return {
    bare: () => (bare ??= startService(SETTINGS)),
    serve: async (settings) => {
      const service = await startService({ ...SETTINGS, ...settings });
      onTestFinished(() => service.stop());
      return service;
    },
    directory: async (files) => {
      const root = await mkdtemp(join(tmpdir(), 'recourse-audit-'));
      onTestFinished(() => rm(root, { recursive: true, force: true }));
      for (const [path, content] of Object.entries(files)) {
        await mkdir(dirname(join(root, path)), { recursive: true });
        await writeFile(join(root, path), content);
      }
      return root;
    },
    close: async () => (await bare)?.stop(),
  };
};

/** The one result of one call. */
export const callOnce = async (
  service: Pick<RunningService, 'call'>,
  name: string,
  args: Readonly<Record<string, unknown>>,
  envelope: Readonly<Record<string, unknown>> = {},
): Promise<ToolResult> => {
  const [result] = await service.call([{ name, arguments: args }], envelope);
  if (result === undefined) throw new Error('There is no result.');
  return result;
};

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
const checkRow = (row: AuditRow, result: ToolResult, writes: readonly string[]): void => {
  if (SITUATIONS[row.situation] === 'partial') checkPartial(row, result);
  else if (row.code === null) checkEmpty(row, result);
  else checkFailure(row, result, writes);
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

const checkFailure = (row: AuditRow, result: ToolResult, writes: readonly string[]): void => {
  const { code, says, situation } = row;
  expect(result.error?.code, String(result.message)).toBe(code);
  expect(result).toMatchObject({ success: false, outcome: OUTCOMES[SITUATIONS[situation]](row, writes) });
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
  // A write may have taken effect when its answer is lost; anything else that is the upstream's may be repeated.
  upstream: ({ tool, code }, writes) =>
    writes.includes(tool) && code === 'upstream_unavailable' ? 'unknown' : 'retry',
} as const satisfies Record<string, (row: AuditRow, writes: readonly string[]) => string>;

/** Which situations each tool of a toolkit can meet at all: each has a row, and no row tells of another. */
export type ToolSituations = Readonly<Record<string, readonly Situation[]>>;

export type AuditTests = {
  readonly audit: ToolkitAudit;
  readonly situations: ToolSituations;
  readonly arrangements: Arrangements;
  /** Tools whose write may have taken effect when the upstream does not answer. */
  readonly writes?: readonly string[];
};

/** Tests that each row is true: its arrangement brings the real tool there, and the tool says what the row says. */
export const describeAudit = ({ audit: { rows }, situations, arrangements, writes = [] }: AuditTests): void => {
  const lab = createAuditLab();
  afterAll(() => lab.close());

  test('every tool has a row for each situation it can meet, and for no other', () => {
    const tools = Map.groupBy(rows, ({ tool }) => tool);
    expect([...tools.keys()].sort()).toEqual(Object.keys(situations).sort());
    for (const [tool, own] of tools)
      expect([...new Set(own.map(({ situation }) => situation))].sort(), tool).toEqual(
        [...(situations[tool] ?? [])].sort(),
      );
  });

  test('every row has an arrangement, every arrangement a row, and no two rows one name', () => {
    expect(rows.map(toRowName).sort()).toEqual(Object.keys(arrangements).sort());
  });

  test.for(rows.map((row) => [toRowName(row), row] as const))('%s', async ([name, row]) => {
    const arrange = arrangements[name];
    if (arrange === undefined) throw new Error('Nothing brings the tool there.');
    checkRow(row, await arrange(lab), writes);
  });
};
