import { existsSync } from 'node:fs';
import type { ToolkitHost } from '@recourse/toolkit-kit/toolkit';
import * as z from 'zod';
import { SETTINGS } from '../../src/config/settings/settings.ts';
import { TOOLKITS } from '../../src/toolkits/toolkits.ts';
import type { ToolFacts } from '../../src/tools/tool.ts';
import { type AuditRow, ToolkitAudit } from './audit-row.ts';

export type AuditedTool = {
  readonly facts: ToolFacts;
  readonly rows: readonly AuditRow[];
  /** Beside its time and its arguments. */
  readonly limits: readonly string[];
  /** Names of the settings that it follows. */
  readonly settings: readonly string[];
};

/** The tools of one word of TOOL_GROUPS; `group` is null for those that every service has. */
export type AuditedGroup = {
  readonly group: string | null;
  readonly title: string;
  /** Toolkits with a page of their own. */
  readonly pages: readonly string[];
  readonly tools: readonly AuditedTool[];
};

type Toolkit = (typeof TOOLKITS)[number];

/** What the toolkits and their audits say, with nothing set up: the same on every machine. */
export const readAuditedGroups = async (): Promise<readonly AuditedGroup[]> => {
  const own: AuditedTool[] = [];
  const ownPages: string[] = [];
  const groups: AuditedGroup[] = [];
  for (const toolkit of TOOLKITS) {
    const words = Object.entries(toolkit.groups);
    const pages = hasPage(toolkit.name) ? [toolkit.name] : [];
    if (words.length === 0) {
      own.push(...(await readTools(toolkit, [])));
      ownPages.push(...pages);
    }
    for (const [group, { title }] of words)
      groups.push({ group, title, pages, tools: await readTools(toolkit, [group]) });
  }
  return [{ group: null, title: 'Every service', pages: ownPages, tools: own }, ...groups];
};

const hasPage = (name: string): boolean =>
  existsSync(new URL(`../../packages/toolkit-${name}/README.md`, import.meta.url));

const readTools = async (toolkit: Toolkit, groups: readonly string[]): Promise<readonly AuditedTool[]> => {
  const { rows, limits = {} } = await readAudit(toolkit);
  const settings = [...Object.keys(toolkit.settings), ...(toolkit.serviceSettings ?? [])];
  const { tools, unavailable = [], close } = await toolkit.create(CONFIG, { ...HOST, groups: new Set(groups) });
  await close();
  return [...tools, ...unavailable.map(({ facts }) => facts)].map((facts) => ({
    facts,
    rows: rows.filter(({ tool }) => tool === facts.name),
    limits: limits[facts.name] ?? [],
    settings,
  }));
};

/** The audit of a toolkit; one without is shown without situations. */
const readAudit = async ({ name }: Toolkit): Promise<ToolkitAudit> => {
  // `echo` is the service's own.
  const folders = [`../../packages/toolkit-${name}/test`, `../../test/toolkits/${name}`];
  const file = folders
    .map((folder) => new URL(`${folder}/audit-rows.ts`, import.meta.url))
    .find((each) => existsSync(each));
  if (file === undefined) return { rows: [] };
  const module: unknown = await import(file.href);
  return z.object({ AUDIT: ToolkitAudit }).parse(module).AUDIT;
};

// A machine with a sandbox must not say more than one without: no shell is tried out here.
const CONFIG = z.object(SETTINGS).parse({ SHELL_BWRAP_PATH: '/nowhere/bwrap' });

const ignore = (): void => undefined;
const HOST: ToolkitHost = {
  log: { info: ignore, warn: ignore, error: ignore },
  groups: new Set(),
  pageTokens: { find: async () => null, keep: async () => undefined },
  registerSecrets: ignore,
  workspaceDir: 'examples/workspace',
  fileAccess: 'paths',
  userAgent: 'recourse',
};
