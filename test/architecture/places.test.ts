import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');

const PLACES = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8')
  .split('## Where it is decided')[1]
  ?.split('\n## ')[0]
  ?.split('\n')
  .filter((line) => line.startsWith('| ') && line.includes('`'));

/** Names that stand behind a file are declared in it, or are members of what it declares. */
const findOffences = (row: string): readonly string[] => {
  let file = '';
  return [...row.matchAll(/`([^`]+)`/g)].flatMap(([, code = '']) => {
    if (code.endsWith('.ts')) {
      file = join(ROOT, code);
      return existsSync(file) ? [] : [`${code} does not exist`];
    }
    if (file === '') return [];
    const isDeclared = new RegExp(`(?:const|class|type|readonly|async) ${code}\\b|^  ${code}\\(`, 'm');
    return isDeclared.test(readFileSync(file, 'utf8')) ? [] : [`${code} is not declared in ${file}`];
  });
};

test('every place of a decision that docs/architecture.md names exists', () => {
  expect(PLACES?.length).toBeGreaterThan(20);
  expect(PLACES?.flatMap(findOffences)).toEqual([]);
});
