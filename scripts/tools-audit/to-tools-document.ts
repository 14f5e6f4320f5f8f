import * as z from 'zod';
import type { ToolFacts } from '../../src/tools/tool.ts';
import { toMarkdownTable } from '../markdown-table.ts';
import { type AuditKind, type AuditRow, SITUATIONS, type Situation } from './audit-row.ts';
import { type AuditedGroup, type AuditedTool, readAuditedGroups } from './audited-groups.ts';

/** docs/tools.md below its first line: which tools come with the service. */
export const toToolsDocument = async (): Promise<string> => `
# Tools that come with the service

The toolkit pages have set-up, limits and failures; \`GET /tools\` has the schemas. A tool whose toolkit is not set up
names the missing setting. The [configuration file](config-file.md#tools) overrides limits and effects, and switches
tools off.

${toToolkitTable(await readAuditedGroups())}

All answers follow [one rule](writing-tools.md#retry-or-empty): a retry means "you called this wrong", an empty success
"nothing matched". An incomplete answer is a success that says so. What only a person can repair is \`tool_failed\`.
What passes by itself is the upstream's: harmless requests were already repeated, and one that may have taken effect is
\`unknown\`.

[Every answer of every tool](../test/extensions/audit/answers.md) is listed beside the tests that bring the real tool into each situation.
`;

/** test/extensions/audit/answers.md below its first line: every tool in one line, and what each says when something is not as usual. */
export const toAnswersDocument = async (): Promise<string> => {
  const groups = await readAuditedGroups();
  return `
# What the tools of the service answer

Proved by the tests beside this page. \`…\` stands for what differs from call to call.

${toMarkdownTable(
  HEAD,
  groups.flatMap(({ tools }) => tools.map(toToolLine)),
)}

${toSituationTable(groups.flatMap(({ tools }) => tools.flatMap(({ rows }) => rows)))}

${groups.map(toGroupSection).join('\n\n')}
`;
};

const toToolkitTable = (groups: readonly AuditedGroup[]): string =>
  toMarkdownTable(
    ['toolkit', 'tools', 'offered'],
    groups.map(({ group, title, pages, tools }) => [
      `${title}: ${pages.map((page) => `[${page}](../packages/toolkit-${page}/README.md)`).join(', ')}`,
      tools.map(({ facts }) => code(facts.name)).join(', '),
      group === null ? 'always' : `TOOL_GROUPS=${group}`,
    ]),
  );

const HEAD = ['tool', 'effects', 'retries', 'nothing found', 'retry when', 'limits', 'configuration'];

const code = (text: string): string => `\`${text}\``;
const orNone = (texts: readonly string[]): string => (texts.length === 0 ? '–' : [...new Set(texts)].join(' · '));

const ORDER: readonly string[] = Object.keys(SITUATIONS);
const compareSituations = (one: Situation, other: Situation): number => ORDER.indexOf(one) - ORDER.indexOf(other);

/** One tool in one line. */
const toToolLine = ({ facts, rows, limits, settings }: AuditedTool): readonly string[] => {
  const ofKind = (kind: AuditKind) => rows.filter(({ situation }) => SITUATIONS[situation] === kind);
  return [
    code(facts.name),
    code(facts.effects),
    String(facts.retries),
    orNone(ofKind('empty').map(({ says }) => says)),
    orNone(
      ofKind('retry')
        .map(({ situation }) => situation)
        .sort(compareSituations),
    ),
    [...toLimits(facts), ...limits].join(' · '),
    orNone(settings.map(code)),
  ];
};

const Bounds = z.object({
  properties: z
    .record(
      z.string(),
      z.object({ maxLength: z.number().optional(), maximum: z.number().optional(), maxItems: z.number().optional() }),
    )
    .default({}),
});

/** The limits that a tool states of itself: its time, and what its arguments may be at most. */
const toLimits = ({ timeoutMs, inputSchema }: ToolFacts): readonly string[] => [
  timeoutMs % 1000 === 0 ? `${timeoutMs / 1000} s` : `${toDigits(timeoutMs)} ms`,
  ...Object.entries(Bounds.parse(inputSchema).properties).flatMap(([name, { maxLength, maximum, maxItems }]) => [
    ...toBound(name, maxLength, ' characters'),
    ...toBound(name, maximum, ''),
    ...toBound(name, maxItems, ' entries'),
  ]),
];

// zod states of every whole number that it is a safe one.
const toBound = (name: string, most: number | undefined, unit: string): readonly string[] =>
  most === undefined || most === Number.MAX_SAFE_INTEGER ? [] : [`\`${name}\` ≤ ${toDigits(most)}${unit}`];

/** `131 072` */
const toDigits = (number: number): string => String(number).replace(/\B(?=(\d{3})+$)/g, ' ');

const ANSWERS = {
  empty: 'success, `empty: true`',
  partial: 'success that says what is missing',
  retry: 'retry that says what to do',
  failed: '`tool_failed`, for a human',
  upstream: 'retry later',
} as const satisfies Record<AuditKind, string>;

/** Which tools meet which situation. */
const toSituationTable = (rows: readonly AuditRow[]): string => {
  const bySituation = [...Map.groupBy(rows, ({ situation }) => situation)];
  return toMarkdownTable(
    ['situation', 'answer', 'tools'],
    bySituation
      .sort(([one], [other]) => compareSituations(one, other))
      .map(([situation, alike]) => [
        situation,
        ANSWERS[SITUATIONS[situation]],
        [...new Set(alike.map(({ tool }) => code(tool)))].join(', '),
      ]),
  );
};

const HEADINGS = {
  empty: 'Nothing found',
  partial: 'Not everything',
  retry: 'You called this wrong',
  failed: 'For a human',
  upstream: 'Not now',
} as const satisfies Record<AuditKind, string>;

const KINDS = ['empty', 'partial', 'retry', 'failed', 'upstream'] as const satisfies readonly AuditKind[];

/** What the tools of one group say when something is not as usual. */
const toGroupSection = ({ title, tools }: AuditedGroup): string => {
  const rows = tools.flatMap((tool) => tool.rows);
  const parts = KINDS.map((kind) => toKindPart(kind, rows, tools.length)).filter((part) => part !== '');
  return [`## ${title}`, ...parts].join('\n\n');
};

const toKindPart = (kind: AuditKind, rows: readonly AuditRow[], tools: number): string => {
  const ofKind = rows
    .filter(({ situation }) => SITUATIONS[situation] === kind)
    .sort((one, other) => compareSituations(one.situation, other.situation));
  if (ofKind.length === 0) return '';
  const lines = Map.groupBy(ofKind, ({ when, code, says }) => JSON.stringify([when, code, says])).values();
  const toolsOf = (alike: readonly AuditRow[]): string =>
    alike.length === tools && tools > 1 ? 'all' : alike.map(({ tool }) => code(tool)).join(', ');
  const toLine = (alike: readonly AuditRow[]): readonly string[][] =>
    alike
      .slice(0, 1)
      .map((row) => [
        row.when,
        toolsOf(alike),
        row.code === null ? `success${kind === 'empty' ? ', `empty`' : ''}` : code(row.code),
        row.says,
      ]);
  return `**${HEADINGS[kind]}**\n\n${toMarkdownTable(['when', 'tools', 'code', 'the model reads'], [...lines].flatMap(toLine))}`;
};
