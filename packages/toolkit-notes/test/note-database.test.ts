import { expect, test } from 'vitest';
import { openNoteDatabase } from '#src/indexing/note-database.ts';

const PAGE = { folder: '.', offset: 0, limit: 4 } as const;
const toTerms = (...words: readonly string[]) => words.map((text) => ({ text, isPrefix: false }));

/** Three thousand notes with "the" in all of them; the later ones were changed later. */
const openCommon = () => {
  const database = openNoteDatabase();
  const put = (id: number, path: string, title: string, body: string): void =>
    database.put({ id, path, title, body, modifiedMs: id, size: body.length });
  for (let id = 1; id <= 3000; id += 1) put(id, `n${id}.md`, `Note ${id}`, 'the word');
  return { database, put };
};

test('of a word in nearly all notes those that have it in the title come first, then the latest changed', () => {
  const { database, put } = openCommon();
  put(7, 'n7.md', 'The title', 'the word');
  put(8, 'the/n8.md', 'Note 8', 'the word');
  const { rows, matched } = database.search({ terms: toTerms('the', 'word'), wantsAny: false }, PAGE);
  expect(matched).toBe('all');
  expect(rows.map(({ path }) => path)).toEqual(['n7.md', 'the/n8.md', 'n3000.md', 'n2999.md']);
  const { rows: next } = database.search({ terms: toTerms('the'), wantsAny: true }, { ...PAGE, offset: 4 });
  expect(next.map(({ path }) => path)).toEqual(['n2998.md', 'n2997.md', 'n2996.md', 'n2995.md']);
  database.close();
});

test('beside a word in nearly all notes the others tell which are the best', () => {
  const { database, put } = openCommon();
  put(7, 'n7.md', 'Note 7', 'the word and zanzibar');
  put(8, 'n8.md', 'Note 8', 'the word and zanzibar and plugh');
  put(9, 'n9.md', 'Plugh', 'the word');
  const { rows, matched } = database.search(
    { terms: toTerms('the', 'zanzibar', 'plugh', 'missing'), wantsAny: false },
    PAGE,
  );
  expect(matched).toBe('any');
  expect(rows.map(({ path }) => path)).toEqual(['n9.md', 'n8.md', 'n7.md', 'n3000.md']);
  database.close();
});

test('of a phrase in most notes every page follows the one before, however far it is', () => {
  const { database, put } = openCommon();
  put(3000, 'n3000.md', 'Note 3000', 'word the');
  put(2998, 'n2998.md', 'The word', 'the word');
  const find = (offset: number, limit: number, folder = '.') =>
    database
      .search({ terms: toTerms('the word'), wantsAny: false }, { folder, offset, limit })
      .rows.map(({ path }) => path);
  expect(find(0, 3)).toEqual(['n2998.md', 'n2999.md', 'n2997.md']);
  expect(find(1, 2)).toEqual(['n2999.md', 'n2997.md']);
  expect(find(250, 2)).toEqual(['n2749.md', 'n2748.md']);
  expect(find(2997, 5)).toEqual(['n2.md', 'n1.md']);
  expect(find(0, 5, 'elsewhere')).toEqual([]);
  database.close();
});

test('notes that match are found behind many later ones that do not', () => {
  const { database, put } = openCommon();
  for (let id = 2701; id <= 3000; id += 1) put(id, `n${id}.md`, `Note ${id}`, 'word the');
  const { rows } = database.search({ terms: toTerms('the word'), wantsAny: false }, PAGE);
  expect(rows.map(({ path }) => path)).toEqual(['n2700.md', 'n2699.md', 'n2698.md', 'n2697.md']);
  database.close();
});

test('a note with one of two words in its title is told before others only where it has the other, too', () => {
  const { database, put } = openCommon();
  put(6, 'n6.md', 'The other', 'the');
  put(7, 'n7.md', 'The title', 'the word');
  const { rows } = database.search({ terms: toTerms('the', 'word'), wantsAny: false }, PAGE);
  expect(rows.map(({ path }) => path)).toEqual(['n7.md', 'n3000.md', 'n2999.md', 'n2998.md']);
  database.close();
});
