import type { DatabaseSync } from 'node:sqlite';
import * as z from 'zod';
import { separateWords, type Term } from '../note-terms.ts';
import type { SearchExpression } from '../search-expression.ts';
import { prepareCommonSearch } from './common-search.ts';
import { boundsOf, ListRow, type Span } from './list-span.ts';

const CountRow = z.object({ count: z.int() });

// CROSS JOIN: the index of words leads, whatever SQLite thinks of the bounds.
const SEARCH = `
  SELECT n.path, n.title, n.modified AS modifiedMs, n.size
  FROM words CROSS JOIN notes n ON n.id = words.rowid
  WHERE words MATCH ? AND n.path > ? AND n.path < ? ORDER BY rank LIMIT ? OFFSET ?`;

const COUNT_UP_TO = 'SELECT count(*) AS count FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)';

// To weigh a match, all its places in the text are read: 25 ms where ten thousand notes match. A word in more than half
// of the notes tells nothing, FTS5 weighs it next to nothing there. Fewer notes than these are weighed, whatever matches.
const MIN_COMMON = 2500;

const HAS_MATCH = `
  SELECT 1 FROM words CROSS JOIN notes n ON n.id = words.rowid
  WHERE words MATCH ? AND n.path > ? AND n.path < ? LIMIT 1`;

/** The best first: notes with all words, or, where no note has them all, with some. */
export const prepareSearch = (database: DatabaseSync) => {
  const searchNotes = database.prepare(SEARCH);
  const searchCommon = prepareCommonSearch(database);
  const countUpTo = database.prepare(COUNT_UP_TO);
  const countNotes = database.prepare('SELECT count(*) AS count FROM notes');
  const hasMatch = database.prepare(HAS_MATCH);
  const createIsCommon = () => {
    const most = Math.max(MIN_COMMON, CountRow.parse(countNotes.get()).count / 2);
    const known = new Map<string, boolean>();
    return (match: string): boolean => {
      const isCommon = known.get(match) ?? CountRow.parse(countUpTo.get(match, Math.floor(most) + 1)).count > most;
      known.set(match, isCommon);
      return isCommon;
    };
  };
  const findRows = (match: string, { terms, needsAll, hasPrefix }: Sought, span: Span): readonly unknown[] => {
    const isCommon = createIsCommon();
    if (!isCommon(match)) return searchNotes.all(match, ...boundsOf(span.folder), span.limit, span.offset);
    const telling = toTelling(terms, isCommon);
    // One term alone, or one of several: whoever has what tells has what is looked for.
    const isEnough = !needsAll || terms.length === 1;
    const told = isEnough ? telling : `(${telling}) AND (${match})`;
    return searchCommon({ match, telling, told, hasPrefix }, span);
  };
  return ({ terms, wantsAny }: SearchExpression, span: Span) => {
    const matches = terms.map(toMatch);
    const all = matches.join(' AND ');
    const needsAll = !wantsAny && hasMatch.get(all, ...boundsOf(span.folder)) !== undefined;
    const sought = { terms: matches, needsAll, hasPrefix: terms.some(({ isPrefix }) => isPrefix) };
    const rows = findRows(needsAll ? all : matches.join(' OR '), sought, span);
    return { matched: needsAll ? 'all' : 'any', rows: ListRow.array().parse(rows) } as const;
  };
};

type Sought = { readonly terms: readonly string[]; readonly needsAll: boolean; readonly hasPrefix: boolean };

/** As FTS5 writes it: nothing between quotation marks is an operator. https://sqlite.org/fts5.html#full_text_query_syntax */
const toMatch = ({ text, isPrefix }: Term): string => `"${separateWords(text)}"${isPrefix ? ' *' : ''}`;

/** What tells one note from another: words that are not common, wherever they stand, and common ones in a name. */
const toTelling = (matches: readonly string[], isCommon: (match: string) => boolean): string => {
  const common = new Set(matches.filter(isCommon));
  const named = common.size === 0 ? [] : [`{title path} : (${[...common].join(' OR ')})`];
  return [...matches.filter((match) => !common.has(match)), ...named].join(' OR ');
};
