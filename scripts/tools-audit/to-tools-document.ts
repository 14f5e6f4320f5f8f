import { toMarkdownTable } from '../markdown-table.ts';
import { type AuditKind, compareSituations, SITUATIONS } from './audit-row.ts';
import { AUDIT_ROWS } from './audit-rows.ts';
import { toAuditTable } from './audit-table.ts';
import { toGroupSection } from './group-section.ts';
import { readToolGroups } from './read-tool-groups.ts';

/** docs/tools.md below its first line: what each of the service's own tools is, and what it says when something is not as usual. */
export const toToolsDocument = async (): Promise<string> => {
  const groups = await readToolGroups();
  const sections = [...groups].map(([group, tools]) => toGroupSection(group, tools));
  return `${OPENING}
${toAuditTable(groups)}

${RULE}
${toSituationTable()}

${sections.join('\n\n')}
`;
};

const OPENING = `
# Tools

The tools that come with the service. Those of the first part are always offered, the others where TOOL_GROUPS names
their group. What each takes and returns is in \`GET /tools\`; how such a tool is written is in
[writing-tools.md](writing-tools.md). What they say below is proved by tests that bring the real tool into each situation.

\`…\` stands for what differs from call to call. "Retries" are failed rounds in a row beyond the first
([semantics.md](semantics.md#retry-budgets)); the [configuration file](config-file.md#tools) can say otherwise, of limits, too.
`;

const RULE = `## Retry or empty

A retry means "you called this wrong"; an empty answer means "nothing matched". Nothing found is a success and costs no
retry. An answer that cannot be whole is a success that says so, and is never marked as empty. What only a person can
mend is \`tool_failed\`: it asks the model for no other call. What passes by itself is the upstream's: where a repeat does
no harm, it was already tried again before the model hears of it, and where it may do harm, as with a message that may
have been posted, the outcome is \`unknown\`.
`;

const ANSWERS = {
  empty: 'success, `empty: true`',
  partial: 'success, and what is missing',
  retry: 'a retry that says what to do differently',
  failed: 'failed: a human must act',
  upstream: 'a retry for later',
} as const satisfies Record<AuditKind, string>;

/** Which tools meet which situation. */
const toSituationTable = (): string => {
  const tools = Map.groupBy(AUDIT_ROWS, ({ situation }) => situation);
  const situations = [...tools.keys()].sort(compareSituations);
  return toMarkdownTable(
    ['situation', 'answer', 'tools'],
    situations.map((situation) => [
      situation,
      ANSWERS[SITUATIONS[situation]],
      [...new Set((tools.get(situation) ?? []).map(({ tool }) => `\`${tool}\``))].join(', '),
    ]),
  );
};
