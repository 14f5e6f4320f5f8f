import type { DatabaseSync } from 'node:sqlite';
import * as z from 'zod';
import { separateWords, type Term } from '../note-terms.ts';
import type { SearchExpression } from '../search-expression.ts';

export type Span = {
  /** Below which folder, as a plain path; `.` for all. */
  readonly folder: string;
  readonly offset: number;
  readonly limit: number;
};

export const ListRow = z.object({ path: z.string(), title: z.string(), modifiedMs: z.number(), size: z.number() });
const CountRow = z.object({ count: z.int() });

export type ListRow = z.output<typeof ListRow>;

// CROSS JOIN: the index of words leads, whatever SQLite thinks of the bounds.
const SEARCH = `
  SELECT n.path, n.title, n.modified AS modifiedMs, n.size
  FROM words CROSS JOIN notes n ON n.id = words.rowid
  WHERE words MATCH ? AND n.path > ? AND n.path < ? ORDER BY rank LIMIT ? OFFSET ?`;

// To weigh a match, all its places in the text are read: 25 ms where ten thousand notes match. So only those are weighed
// that the first expression finds; the others follow, the latest changed first.
const SEARCH_COMMON = `
  WITH telling AS MATERIALIZED (SELECT rowid AS id, rank AS score FROM words WHERE words MATCH ?)
  SELECT n.path, n.title, n.modified AS modifiedMs, n.size
  FROM words CROSS JOIN notes n ON n.id = words.rowid LEFT JOIN telling ON telling.id = n.id
  WHERE words MATCH ? AND n.path > ? AND n.path < ?
  ORDER BY telling.score IS NULL, telling.score, n.modified DESC, n.path LIMIT ? OFFSET ?`;

const COUNT_UP_TO = 'SELECT count(*) AS count FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)';

// A word in more than half of the notes tells nothing: FTS5 weighs it next to nothing there. Fewer notes than these are
// weighed at once, whatever matches.
const MIN_COMMON = 2500;

const HAS_MATCH = `
  SELECT 1 FROM words CROSS JOIN notes n ON n.id = words.rowid
  WHERE words MATCH ? AND n.path > ? AND n.path < ? LIMIT 1`;

/** The best first: notes with all words, or, where no note has them all, with some. */
export const prepareSearch = (database: DatabaseSync) => {
  const searchNotes = database.prepare(SEARCH);
  const searchCommon = database.prepare(SEARCH_COMMON);
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
  const findRows = (match: string, terms: readonly string[], span: Span): readonly unknown[] => {
    const isCommon = createIsCommon();
    const place = [match, ...boundsOf(span.folder), span.limit, span.offset];
    if (!isCommon(match)) return searchNotes.all(...place);
    return searchCommon.all(toTelling(terms, isCommon), ...place);
  };
  return ({ terms, wantsAny }: SearchExpression, span: Span) => {
    const matches = terms.map(toMatch);
    const all = matches.join(' AND ');
    const hasAll = !wantsAny && hasMatch.get(all, ...boundsOf(span.folder)) !== undefined;
    const rows = findRows(hasAll ? all : matches.join(' OR '), matches, span);
    return { matched: hasAll ? 'all' : 'any', rows: ListRow.array().parse(rows) } as const;
  };
};

// '0' follows '/': all that begins with the folder and a slash. Paths compare by their bytes.
export const boundsOf = (folder: string): readonly [string, string] =>
  folder === '.' ? ['', '\u{10FFFF}'] : [`${folder}/`, `${folder}0`];

/** As FTS5 writes it: nothing between quotation marks is an operator. https://sqlite.org/fts5.html#full_text_query_syntax */
const toMatch = ({ text, isPrefix }: Term): string => `"${separateWords(text)}"${isPrefix ? ' *' : ''}`;

/** What tells one note from another: words that are not common, wherever they stand, and common ones in a name. */
const toTelling = (matches: readonly string[], isCommon: (match: string) => boolean): string => {
  const common = new Set(matches.filter(isCommon));
  const named = common.size === 0 ? [] : [`{title path} : (${[...common].join(' OR ')})`];
  return [...matches.filter((match) => !common.has(match)), ...named].join(' OR ');
};
