import { empty, isToldValue, type ToldValue } from '../../tool-values.ts';
import { answerPage } from '../answers.ts';

const NOTE_WORDS = { one: 'note', many: 'notes' } as const;

export type NotesPage<Item, Further> = {
  readonly items: readonly Item[];
  readonly page: number;
  readonly hasMore: boolean;
  /** Whether every note of the directory is in the index. */
  readonly isComplete: boolean;
  /** A sentence before all others; empty for none. */
  readonly first?: string;
  /** Further members of the value. */
  readonly further: Further;
};

/** One page of notes. Where notes are missing from the index, the sentence says so: what is not found may be there. */
export const answerNotes = <Item, Further extends object>({
  items,
  page,
  hasMore,
  isComplete,
  first = '',
  further,
}: NotesPage<Item, Further>): ToldValue | object => {
  const answer = answerPage({ words: NOTE_WORDS, key: 'notes', items, page, hasMore });
  const sentences = [first, isToldValue(answer) ? answer.message : answer.display, isComplete ? '' : INCOMPLETE];
  const display = sentences.filter((sentence) => sentence !== '').join(' ');
  const value = { display, count: items.length, page, has_more: hasMore, ...further, notes: items };
  return isToldValue(answer) ? empty(display, value) : value;
};

const INCOMPLETE = 'Some notes are not indexed, and no list or search shows them.';
