import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadOptions } from '../../bench/options.ts';

const read = (path: string): string => readFileSync(join(import.meta.dirname, '../..', path), 'utf8');

test('README.md quotes the main figures as the last run of the bench wrote them', () => {
  const quoted = /<!-- bench -->\n\n(.*?)\n\n<!-- \/bench -->/s.exec(read('README.md'))?.[1] ?? '';
  const [, main = ''] = /<!-- part: main -->\n(.*?)(?=<!-- part: |$(?!\n))/s.exec(read('bench/results.md')) ?? [];
  const table = main.split('\n\n').find((paragraph) => paragraph.startsWith('|'));
  expect(quoted.split('\n').length).toBeGreaterThan(15);
  expect(quoted).toBe(table);
});

test('the bench measures its main table unless it is asked for other parts', () => {
  expect(loadOptions([])).toMatchObject({ parts: ['main'], isWhole: true });
  expect(loadOptions(['--only', 'kill,growth'])).toMatchObject({ parts: ['growth', 'kill'], isWhole: true });
  expect(loadOptions(['--rounds', '8'])).toMatchObject({ parts: ['main'], isWhole: false });
  expect(() => loadOptions(['--only', 'redis'])).toThrow("--only does not know 'redis'");
});

test('floors are held against a shorter run, and are made of a whole one', () => {
  expect(loadOptions(['--check'])).toMatchObject({ floors: 'check', isWhole: false });
  expect(loadOptions(['--write-floors'])).toMatchObject({ floors: 'write', isWhole: true });
  expect(() => loadOptions(['--write-floors', '--rounds', '8'])).toThrow('of full length only');
  expect(() => loadOptions(['--check', '--only', 'kill'])).toThrow('of the part main only');
  expect(() => loadOptions(['--check', '--write-floors'])).toThrow('exclude each other');
});
