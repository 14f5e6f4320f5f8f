import { expect, test } from 'vitest';
import { makeSnippet } from '#src/indexing/make-snippet.ts';

const word = (text: string) => ({ text, isPrefix: false });
const FILLER = 'filler '.repeat(100);

test.each([
  ['a word, whatever its case and accents', 'Ein Käse.', [word('kase')], 'Ein «Käse».'],
  ['a phrase over lines', 'the open\n gate, open', [word('open gate')], 'the «open gate», open'],
  ['the beginning of a word', 'budgets', [{ text: 'budg', isPrefix: true }], '«budgets»'],
  ['a part of a Chinese sentence', '日本の漢字です', [word('漢字')], '日本の«漢字»です'],
  ['matches that overlap', 'a b c', [word('a b'), word('b c')], '«a b» c'],
  ['nothing', 'some text', [word('other')], 'some text'],
])('a snippet marks %s', (_what, text, terms, snippet) => {
  expect(makeSnippet(text, terms)).toBe(snippet);
});

test('a snippet shows the place where most of the words stand together', () => {
  const text = `open ${FILLER} gate ${FILLER} the open gate ${FILLER}`;
  expect(makeSnippet(text, [word('open'), word('gate')])).toMatch(/^…(filler )+the «open» «gate» (filler ?)+…$/);
});

test('a snippet is short and well-formed, however long a word is', () => {
  const snippet = makeSnippet(`${'😀'.repeat(9000)} ${'x'.repeat(9000)}`, [word('x'.repeat(9000))]);
  expect(snippet.length).toBeLessThan(400);
  expect(snippet.isWellFormed()).toBe(true);
  expect(snippet).toContain('«xxx');
});
