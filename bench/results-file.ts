import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PARTS, type PartName } from './options.ts';

const ROOT = join(import.meta.dirname, '..');
const RESULTS = join(ROOT, 'bench', 'results.md');
const README = join(ROOT, 'README.md');

const HEAD =
  '# Bench results\n\nWritten by `npm run bench`, each part by its own run. What the figures mean, and what they leave out: [README](README.md).';
const MARK = /^<!-- part: (\w+) -->$/m;
const toMark = (part: PartName): string => `<!-- part: ${part} -->`;

/** Puts what was measured in the place of what stood there; parts that were not measured stay as they were. */
export const writeResults = (measured: ReadonlyMap<PartName, string>): void => {
  const parts = new Map([...readParts(), ...measured]);
  const texts = PARTS.flatMap((part) => {
    const text = parts.get(part);
    return text === undefined ? [] : [`${toMark(part)}\n\n${text}`];
  });
  writeFileSync(RESULTS, `${[HEAD, ...texts].join('\n\n')}\n`);
  const main = measured.get('main');
  if (main !== undefined) quoteInReadme(main);
};

const readParts = (): ReadonlyMap<string, string> => {
  if (!existsSync(RESULTS)) return new Map();
  // Of what split gives, a name and a text follow each other.
  const [, ...pieces] = readFileSync(RESULTS, 'utf8').split(MARK);
  return new Map(
    pieces.flatMap((name, place) => (place % 2 === 0 ? [[name, (pieces[place + 1] ?? '').trim()] as const] : [])),
  );
};

const QUOTE = /(?<=<!-- bench -->\n\n).*?(?=\n\n<!-- \/bench -->)/s;

/** The table of main figures stands in README.md as it stands in the results. */
const quoteInReadme = (main: string): void => {
  const table = main.split('\n\n').find((paragraph) => paragraph.startsWith('|'));
  const readme = readFileSync(README, 'utf8');
  if (table === undefined || !QUOTE.test(readme)) throw new Error('README.md has no place for the main figures.');
  writeFileSync(
    README,
    readme.replace(QUOTE, () => table),
  );
};
