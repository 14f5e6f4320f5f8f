import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readAuditedGroups } from '../../../scripts/tools-audit/audited-groups.ts';

const ROOT = join(import.meta.dirname, '../../..');
const PAGE = readFileSync(join(ROOT, 'docs/writing-tools.md'), 'utf8');

const normalise = (text: string): string => text.replace(/\s+/g, ' ').trim();

// A block that begins with the path of a file is quoted from it; a line with nothing but `// …` stands for what is left out.
const EXCERPTS = [...PAGE.matchAll(/^```ts\n\/\/ ((?:src|packages|examples)\/\S+\.ts)\n(.*?)^```$/gms)].map(
  ([, file = '', code = '']) => ({
    file,
    parts: code.split(/^\s*\/\/ …$/m).map(normalise),
  }),
);

test('docs/writing-tools.md quotes the tools that come with the service', () => {
  expect(EXCERPTS.map(({ file }) => file)).toEqual(QUOTED);
});

test.for(EXCERPTS)('docs/writing-tools.md quotes $file as it is', ({ file, parts }) => {
  const source = normalise(readFileSync(join(ROOT, file), 'utf8'));
  expect(parts.filter((part) => part === '' || !source.includes(part))).toEqual([]);
});

const SHIPPED_SAYS = /^\| [^|]+ \| `(\w+)` \| "([^|]+)" \|$/gm;

test('docs/writing-tools.md says of a tool what the audit has proved', async () => {
  const rows = (await readAuditedGroups()).flatMap(({ tools }) => tools.flatMap((tool) => tool.rows));
  const said = [...PAGE.matchAll(SHIPPED_SAYS)].map(([, tool, says]) => ({ tool, says }));
  expect(said.map(({ tool }) => tool)).toEqual(TOLD_OF);
  const isProved = ({ tool, says }: (typeof said)[number]): boolean =>
    rows.some((row) => row.tool === tool && row.says === says);
  expect(said.filter((one) => !isProved(one))).toEqual([]);
});

const QUOTED = [
  'examples/payments/send-payment.ts',
  'packages/toolkit-google/src/google-failure.ts',
  'packages/toolkit-kit/src/paging/page-chain.ts',
];
const TOLD_OF = [
  ...['search_drive', 'search_drive', 'search_drive', 'list_calendar_events', 'post_slack_message'],
  ...['run_shell_command', 'search_drive', 'list_calendar_events', 'list_notes'],
];
