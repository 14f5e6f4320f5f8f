import { type Accounts, PROMISE_NAMES, PROMISES } from './accounts.ts';
import type { Row } from './to-rows.ts';

/** The whole report as Markdown, readable as plain text, too. `settings`: when, where, of what and how. */
export const toReport = (rows: readonly Row[], settings: readonly string[]): string =>
  [
    '# Chaos results',
    'Written by `npm run chaos`. What the rows mean, and what they leave out: [README](README.md).',
    settings.map((line) => `- ${line}`).join('\n'),
    toTable(rows),
  ].join('\n\n');

const HEAD = ['what', 'figure', 'limit', ''] as const;

const toTable = (rows: readonly Row[]): string => {
  const cells = rows.map(({ what, figure, limit, verdict }) => [what, figure, limit, verdict]);
  const width = Math.max(...cells.map(([what = '']) => what.length));
  return [HEAD, ['-'.repeat(width), '---', '---', '---'], ...cells]
    .map(([what = '', ...others]) => `| ${[what.padEnd(width), ...others].join(' | ')} |`)
    .join('\n');
};

/** What broke, with evidence: empty where all is well. */
export const toEvidence = (accounts: Accounts): string =>
  PROMISE_NAMES.flatMap((name) => {
    const evidence = accounts.evidenceOf(name);
    return evidence.length === 0 ? [] : [`\nBROKEN: ${PROMISES[name]}`, ...evidence.map((line) => `  ${line}`)];
  }).join('\n');
