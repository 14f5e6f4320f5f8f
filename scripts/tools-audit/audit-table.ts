import type { ToolFacts } from '../../src/tools/tool.ts';
import { toMarkdownTable } from '../markdown-table.ts';
import { type AuditKind, type AuditRow, compareSituations, SITUATIONS } from './audit-row.ts';
import { AUDIT_ROWS } from './audit-rows.ts';
import { GROUP_TEXTS } from './group-texts.ts';
import type { AuditGroup } from './read-tool-groups.ts';
import { SIZE_LIMITS } from './size-limits.ts';
import { toLimits } from './to-limits.ts';

const HEAD = ['tool', 'effects', 'retries', 'nothing found', 'retry when', 'limits', 'configuration'];

/** Every tool in one line: tool × effects, retries, empty handling, retry cases, limits, configuration. */
export const toAuditTable = (groups: ReadonlyMap<AuditGroup, readonly ToolFacts[]>): string =>
  toMarkdownTable(
    HEAD,
    [...groups].flatMap(([group, tools]) => tools.map((tool) => toLine(group, tool))),
  );

const toLine = (group: AuditGroup, tool: ToolFacts): readonly string[] => [
  `\`${tool.name}\``,
  `\`${tool.effects}\``,
  String(tool.retries),
  orNone(rowsOfKind(tool.name, 'empty').map(({ says }) => says)),
  orNone(
    rowsOfKind(tool.name, 'retry')
      .map(({ situation }) => situation)
      .sort(compareSituations),
  ),
  [...toLimits(tool), ...(SIZE_LIMITS[tool.name] ?? [])].join(' · '),
  orNone(settingsOf(group, tool.name).map((name) => `\`${name}\``)),
];

const rowsOfKind = (tool: string, kind: AuditKind): readonly AuditRow[] =>
  AUDIT_ROWS.filter((row) => row.tool === tool && SITUATIONS[row.situation] === kind);

const settingsOf = (group: AuditGroup, tool: string): readonly string[] => {
  const { settings } = GROUP_TEXTS[group];
  return group === 'own' ? settings.filter((name) => OWN_SETTINGS[tool]?.includes(name)) : settings;
};

// The tools that every service has share no settings.
const OWN_SETTINGS: Readonly<Record<string, readonly string[]>> = {
  read_file: ['WORKSPACE_DIR'],
  list_files: ['WORKSPACE_DIR'],
  search_files: ['WORKSPACE_DIR'],
  write_file: ['WORKSPACE_DIR'],
  fetch_url: ['FETCH_ALLOW_PRIVATE'],
};

const orNone = (texts: readonly string[]): string => (texts.length === 0 ? '–' : [...new Set(texts)].join(' · '));
