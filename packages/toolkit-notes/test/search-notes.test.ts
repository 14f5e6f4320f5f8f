import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseSearchExpression } from '#src/search-expression.ts';
import { startNotesLab } from './notes-lab.ts';

test('a match in the title comes before one in the text', async () => {
  await using lab = await startNotesLab({
    'a.md': '# Minutes\nA budget and a budget',
    'b.md': `# Budget\n${'other words '.repeat(20)}`,
    'c.md': '# Nothing of it',
  });
  expect(await lab.find('budget')).toEqual(['b.md', 'a.md']);
});

test('a snippet is one line around the match, which is marked', async () => {
  const around = 'filler '.repeat(500);
  await using lab = await startNotesLab({
    'a.md': `${around}\nthe Gate\nis open ${around}`,
    'b.md': `${'x'.repeat(9000)} lever`,
  });
  const [gate] = [await lab.call('search_notes', { query: 'gate' })];
  expect(JSON.stringify(gate)).toMatch(/"snippet":"…(filler )+the «Gate» is open (filler )*filler…"/);
  expect(JSON.stringify(await lab.call('search_notes', { query: 'lever' })).length).toBeLessThan(900);
});

test.each([
  ['kase', ['a.md']],
  ['KÄSE', ['a.md']],
  ['"open gate"', ['b.md']],
  ['"gate open"', []],
  ['“open gate”', ['b.md']],
  ['"open gate', ['b.md']],
  ['chee*', ['a.md']],
  ['chee', []],
  ['open AND gate', ['b.md']],
  ['cheese OR gate', ['a.md', 'b.md']],
  ['well-known', ['b.md']],
  ['title:(open) ^gate', ['b.md']],
  ['open\0gate', ['b.md']],
  ['漢字', ['c.md']],
  ['字漢', []],
  ['"字の ノート"', ['c.md']],
  ['ノー*', ['c.md']],
  ['แมว', ['c.md']],
])('the query %j finds %j', async (query, paths) => {
  await using lab = await startNotesLab({
    'a.md': 'Käse is cheese',
    'b.md': 'the well-known open gate, and its title',
    'c.md': '日本の漢字のノート\nมีแมวสองตัว',
  });
  expect((await lab.find(query)).toSorted()).toEqual(paths);
});

test('where no note has all words, those with some are given, and it is said', async () => {
  await using lab = await startNotesLab({ 'a.md': 'cheese', 'b.md': 'gate' });
  const some = {
    display: 'No note contains all words. Notes with some of them: 2 notes found.',
    matched: 'any',
    count: 2,
  };
  expect(await lab.run('search_notes', { query: 'cheese gate' })).toMatchObject(some);
  expect(await lab.run('search_notes', { query: 'cheese OR gate' })).toMatchObject({
    display: '2 notes found.',
    matched: 'any',
  });
  expect(await lab.run('search_notes', { query: 'cheese' })).toMatchObject({ matched: 'all', count: 1 });
});

test.each([
  [
    '?! ...',
    'The query \'?! ...\' contains no word. Send words to search, such as: release plan, "exact phrase", budg*.',
  ],
  ['AND', 'The query \'AND\' contains no word. Send words to search, such as: release plan, "exact phrase", budg*.'],
  ['a*', "The prefix 'a*' is too short. Write at least 3 letters before the *."],
  ['"the a"*', "The prefix 'a*' is too short. Write at least 3 letters before the *."],
  ['aaa* bbb* ccc* ddd* eee*', 'The query has more than 4 words with a *. Write some words in full.'],
  [`"${'a '.repeat(65)}"`, 'The query has phrases of 65 words together. Send at most 64.'],
  ['a b c d e f g h i j k l m n o p q', 'The query has 17 words. Send only the 16 most important ones.'],
])('the query %j is a retry that says what to send', (query, message) => {
  expect(() => parseSearchExpression(query)).toThrow(expect.objectContaining({ name: 'RetryableToolError', message }));
});

test('the same word again and again counts once, and a sign of Chinese may begin a word', () => {
  const gate = { text: 'gate', isPrefix: false };
  expect(parseSearchExpression('gate '.repeat(150))).toEqual({ terms: [gate], wantsAny: false });
  expect(parseSearchExpression('日* gate')).toEqual({ terms: [{ text: '日', isPrefix: true }, gate], wantsAny: false });
});

test('a query of more than 1 000 characters is refused by the schema', async () => {
  await using lab = await startNotesLab();
  await expect(lab.call('search_notes', { query: 'x'.repeat(1001) })).rejects.toThrow(TypeError);
});

const HOSTILE = fc.oneof(
  fc.string({ unit: 'binary', minLength: 1, maxLength: 200 }),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 200 }),
  fc
    .array(
      fc.constantFrom(
        '"',
        "'",
        '*',
        '(',
        ')',
        'NEAR(',
        'NOT',
        'OR',
        'AND',
        '^',
        ':',
        '-',
        '{a b}:',
        '\0',
        'gate',
        '“',
        '”',
        '\ud800',
        'a',
        'ab*',
        'abc*',
        '%',
        ';--',
        '𞤀',
        'ⓐ',
        '²',
      ),
      {
        minLength: 1,
        maxLength: 30,
      },
    )
    .map((pieces) => pieces.join(' ')),
  fc
    .array(fc.constantFrom('"', '*', 'gate', ' ', 'OR', '(', 'x'), { minLength: 1, maxLength: 60 })
    .map((all) => all.join('')),
);

test('no text at all makes a search fail, except with a retry that says why', async () => {
  await using lab = await startNotesLab({ 'a.md': 'the open gate', 'b.md': '"quoted" AND (more) *' });
  await fc.assert(
    fc.asyncProperty(HOSTILE, async (query) => {
      const end = await lab.call('search_notes', { query }).then(
        () => 'answered',
        (thrown: unknown) => (thrown instanceof Error ? thrown.name : 'no error'),
      );
      expect(['answered', 'RetryableToolError']).toContain(end);
    }),
    { numRuns: 1000 },
  );
});
