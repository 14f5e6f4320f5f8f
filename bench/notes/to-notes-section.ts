import { toTable, toVerdict } from '../to-table.ts';
import type { NotesMeasured, SearchTimes } from './measure-notes.ts';

const MAX_INDEX_MS = 10_000;
const MAX_SEARCH_MS = 20;
const MAX_CHANGE_MS = 1000;

/** The part of the report about the notes tools. */
export const toNotesSection = (measured: NotesMeasured): readonly string[] => [
  `## Notes: ${measured.notes} notes, ${measured.megabytes.toFixed(0)} MB`,
  toTable(
    ['figure', 'p50', 'p99', 'target', ''],
    [
      [
        'first index, ms',
        measured.indexMs.toFixed(0),
        '',
        `≤ ${MAX_INDEX_MS}`,
        toVerdict(measured.indexMs <= MAX_INDEX_MS),
      ],
      ...measured.searches.map((row) => toRow(`search, ms: ${row.what}`, row, MAX_SEARCH_MS, 1)),
      ...measured.changes.map((row) => toRow(`until a change is found, ms: ${row.what}`, row, MAX_CHANGE_MS, 0)),
      ['longest wait of the event loop while searching, ms', measured.mostBlockedMs.toFixed(1), '', '', ''],
      ['processor, a search a second, % of a core', (measured.usedCpu * 100).toFixed(1), '', '', ''],
      ['processor, idle, % of a core', (measured.idleCpu * 100).toFixed(2), '', '', ''],
    ],
  ),
];

const toRow = (name: string, { p50, p99 }: SearchTimes, most: number, digits: number): readonly string[] => {
  // A search is what a caller waits for as a rule; a change must be found within its second every time.
  const judged = most === MAX_CHANGE_MS ? p99 : p50;
  return [name, p50.toFixed(digits), p99.toFixed(digits), `≤ ${most}`, toVerdict(judged <= most)];
};
