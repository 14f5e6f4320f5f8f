import * as z from 'zod';
import { SETTINGS } from '../../src/settings/settings.ts';
import type { ToolFacts } from '../../src/tools/tool.ts';
import { toMarkdownTable } from '../markdown-table.ts';
import { type AuditKind, type AuditRow, compareSituations, SITUATIONS } from './audit-row.ts';
import { AUDIT_ROWS } from './audit-rows.ts';
import { GROUP_TEXTS } from './group-texts.ts';
import type { AuditGroup } from './read-tool-groups.ts';

const HEADINGS = {
  empty: 'Nothing found',
  partial: 'Not everything',
  retry: 'You called this wrong',
  failed: 'For a human',
  upstream: 'Not now',
} as const satisfies Record<AuditKind, string>;

const KINDS = ['empty', 'partial', 'retry', 'failed', 'upstream'] as const satisfies readonly AuditKind[];

/** What one group of tools needs, and what its tools say when something is not as usual. */
export const toGroupSection = (group: AuditGroup, tools: readonly ToolFacts[]): string => {
  const { title, about, settings } = GROUP_TEXTS[group];
  const names = tools.map(({ name }) => name);
  const rows = AUDIT_ROWS.filter(({ tool }) => names.includes(tool));
  const parts = KINDS.map((kind) => toKindPart(kind, rows, names.length)).filter((part) => part !== '');
  return [`## ${title}`, about, ...toOffer(group, names), toSettings(settings), ...parts].join('\n\n');
};

const toOffer = (group: AuditGroup, names: readonly string[]): readonly string[] =>
  group === 'own' ? [] : [`\`TOOL_GROUPS=${group}\` offers ${names.map((name) => `\`${name}\``).join(', ')}.`];

const toSettings = (settings: readonly string[]): string =>
  toMarkdownTable(
    ['setting', 'meaning'],
    settings.map((name) => [`\`${name}\``, describeSetting(name)]),
  );

const describeSetting = (name: string): string => {
  const schema: unknown = Object.hasOwn(SETTINGS, name) ? Reflect.get(SETTINGS, name) : undefined;
  if (!(schema instanceof z.ZodType)) throw new Error(`There is no setting ${name}.`);
  return z.globalRegistry.get(schema)?.description ?? '';
};

const toKindPart = (kind: AuditKind, rows: readonly AuditRow[], tools: number): string => {
  const ofKind = rows
    .filter(({ situation }) => SITUATIONS[situation] === kind)
    .sort((one, other) => compareSituations(one.situation, other.situation));
  if (ofKind.length === 0) return '';
  const said = Map.groupBy(ofKind, ({ when, code, says }) => JSON.stringify([when, code, says]));
  const lines = [...said.values()].flatMap((alike) => alike.slice(0, 1).map((row) => ({ row, alike })));
  return [
    `**${HEADINGS[kind]}**`,
    toMarkdownTable(
      ['when', 'tools', 'code', 'the model reads'],
      lines.map(({ row, alike }) => [
        row.when,
        alike.length === tools && tools > 1 ? 'all' : alike.map(({ tool }) => `\`${tool}\``).join(', '),
        row.code === null ? `success${kind === 'empty' ? ', `empty`' : ''}` : `\`${row.code}\``,
        row.says,
      ]),
    ),
  ].join('\n\n');
};
