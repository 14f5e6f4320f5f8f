import { existsSync } from 'node:fs';
import { Registry } from 'prom-client';
import type { Extension, ExtensionHost } from 'recourse-server/extension';
import * as z from 'zod';
import { EXTENSION_SETTINGS, OWN_EXTENSIONS } from '../../src/packages.ts';
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

/** What the extensions and their audits say, with nothing set up: the same on every machine. */
export const readAuditedGroups = async (): Promise<readonly AuditedGroup[]> => {
  const own: AuditedTool[] = [];
  const ownPages: string[] = [];
  const groups: AuditedGroup[] = [];
  for (const extension of OWN_EXTENSIONS.all) {
    const words = Object.entries(extension.groups);
    const pages = hasPage(extension.name) ? [extension.name] : [];
    if (words.length === 0) {
      own.push(...(await readTools(extension, [])));
      ownPages.push(...pages);
    }
    for (const [group, { title }] of words)
      groups.push({ group, title, pages, tools: await readTools(extension, [group]) });
  }
  return [{ group: null, title: 'Every service', pages: ownPages, tools: own }, ...groups];
};

const hasPage = (name: string): boolean =>
  existsSync(new URL(`../../packages/toolkit-${name}/README.md`, import.meta.url));

const readTools = async (extension: Extension, groups: readonly string[]): Promise<readonly AuditedTool[]> => {
  const { rows, limits = {} } = await readAudit(extension);
  const settings = [...Object.keys(extension.settings), ...extension.serviceSettings];
  const opened = await extension.open(CONFIG, { ...HOST, groups: new Set(groups) });
  const { tools = [], unavailable = [], close } = opened ?? {};
  await close?.();
  return [...tools, ...unavailable.map(({ facts }) => facts)].map((facts) => ({
    facts,
    rows: rows.filter(({ tool }) => tool === facts.name),
    limits: limits[facts.name] ?? [],
    settings,
  }));
};

/** The audit of an extension; one without is shown without situations. */
const readAudit = async ({ name }: Extension): Promise<ToolkitAudit> => {
  // `echo` is the service's own.
  const folders = [`../../packages/toolkit-${name}/test`, `../../test/extensions/${name}`];
  const file = folders
    .map((folder) => new URL(`${folder}/audit-rows.ts`, import.meta.url))
    .find((each) => existsSync(each));
  if (file === undefined) return { rows: [] };
  const module: unknown = await import(file.href);
  return z.object({ AUDIT: ToolkitAudit }).parse(module).AUDIT;
};

// A machine with a sandbox must not say more than one without: no shell is tried out here.
const CONFIG = z.object(EXTENSION_SETTINGS).parse({ SHELL_BWRAP_PATH: '/nowhere/bwrap' });

const ignore = (): void => undefined;
const HOST: ExtensionHost = {
  log: { info: ignore, warn: ignore, error: ignore },
  groups: new Set(),
  pageTokens: { find: async () => null, keep: async () => undefined },
  registerSecrets: ignore,
  workspaceDir: 'examples/workspace',
  fileAccess: 'paths',
  userAgent: 'recourse',
  metrics: new Registry(),
};
