import type { RoundJournal, UnpackRound } from '../executor/session-store.ts';
import { textBytes } from '../memory/bounded-store.ts';
import type { ListElement } from '../store/record-store.ts';
import { EQUAL_WITHIN, toJournalText, toRepeated, toRepeatKey } from './journal-lines.ts';
import { type RetriesLeft, retriesLeftOf } from './rules/retry-budgets.ts';

/**
 * What a session knows of its journal. The lines are in a list that only grows at its end: those of a round are one element.
 * Lines of refused calls at the end are kept here until another follows, for the next refused call may take the place of one.
 */
export type SessionJournal = {
  /** How many lines each element of the list has that is still kept. Oldest first. */
  counts: number[];
  /** Of all these elements. */
  lines: number;
  /** Lines of refused calls after the list, and late results among these. */
  tail: readonly string[];
  /** Elements that are not in the list yet. */
  added: readonly ListElement[];
  /** Lines were left out, for the store had no room for them. */
  isTruncated: boolean;
};

const NONE: readonly ListElement[] = [];

export const createSessionJournal = (): SessionJournal => ({
  counts: [],
  lines: 0,
  tail: [],
  added: NONE,
  isTruncated: false,
});

/** A round that is to be kept: the last `most` lines of its journal, and what its tools have left after it. */
export type JournalRound = {
  readonly journal: RoundJournal;
  readonly most: number;
  readonly left: RetriesLeft;
};

/** Adds the lines of a round; `maxLines` are kept. Changes `journal`. */
export const addRound = (journal: SessionJournal, round: JournalRound, maxLines: number): void => {
  const { refused } = round.journal;
  if (refused === 0) {
    addElement(journal, new RoundElement(round), Math.min(round.journal.lines, round.most));
  } else {
    const lines = toLines(round);
    const others = lines.slice(0, -refused);
    if (others.length > 0) addElement(journal, toTextElement(others), others.length);
    for (const line of lines.slice(-refused)) journal.tail = withRefused(journal.tail, line);
  }
  dropSurplus(journal, maxLines);
};

/** Adds the line of a late result. Changes `journal`. */
export const addLate = (journal: SessionJournal, line: string, maxLines: number): void => {
  if (journal.tail.length > 0) journal.tail = [...journal.tail, line];
  else addElement(journal, toTextElement([line]), 1);
  dropSurplus(journal, maxLines);
};

/** What the lines take of the heap that are not in the list, in bytes. */
export const toTailBytes = ({ tail }: SessionJournal): number =>
  tail.reduce((sum, line) => sum + POINTER_BYTES + textBytes(line), 0);

const POINTER_BYTES = 8;

/** What has been added since this was asked last. Changes `journal`. */
export const takeAdded = (journal: SessionJournal): readonly ListElement[] => {
  const { added } = journal;
  journal.added = NONE;
  return added;
};

/** The lines that are kept, oldest first. `elements`: of the list, as many as there are still. */
export const readJournal = (
  { counts, tail }: SessionJournal,
  elements: readonly ListElement[],
  { maxLines, unpackRound }: { readonly maxLines: number; readonly unpackRound: UnpackRound },
): readonly string[] => {
  const kept = counts.slice(Math.max(0, counts.length - elements.length));
  const lines = elements.flatMap((element, at) => readElement(element, unpackRound).slice(-(kept[at] ?? 0)));
  return [...lines, ...tail].slice(-maxLines);
};

const addElement = (journal: SessionJournal, element: ListElement, lines: number): void => {
  if (journal.tail.length > 0) {
    const { tail } = journal;
    journal.tail = NO_LINES;
    addElement(journal, toTextElement(tail), tail.length);
  }
  journal.added = journal.added.length === 0 ? [element] : [...journal.added, element];
  journal.counts.push(lines);
  journal.lines += lines;
};

const NO_LINES: readonly string[] = [];

/** The line takes the place of an equal call that was refused a little before. */
const withRefused = (tail: readonly string[], line: string): readonly string[] => {
  const key = toRepeatKey(line);
  const from = Math.max(0, tail.length - EQUAL_WITHIN);
  const found = key === null ? -1 : tail.findLastIndex((former, at) => at >= from && toRepeatKey(former) === key);
  return found === -1 ? [...tail, line] : [...tail.toSpliced(found, 1), toRepeated(line, tail[found] ?? '')];
};

// What is read may begin in the middle of the first element. The last call that was not refused stays: the next one goes.
const dropSurplus = (journal: SessionJournal, maxLines: number): void => {
  const { counts, tail } = journal;
  for (let first = counts[0]; first !== undefined; first = counts[0]) {
    const isCause = counts.length === 1 && tail.length > 0;
    if (isCause || journal.lines + tail.length - first < maxLines) break;
    counts.shift();
    journal.lines -= first;
  }
  const surplus = counts.length > 1 ? 0 : journal.lines + tail.length - maxLines;
  if (surplus > 0) journal.tail = tail.slice(surplus);
};

const toLines = ({ journal, most, left }: JournalRound): readonly string[] =>
  journal
    .render()
    .slice(-most)
    .map((line) => toJournalText(line, (tool) => retriesLeftOf(left, tool)));

// A number that an element keeps for each of its tools, and the element.
const [ELEMENT_BYTES, LEFT_BYTES] = [130, 16] as const;

/**
 * A round, rendered when it is read. Its text: `[lines, tool, what it has left after the round, tool, ...]`, a line break and the round as
 * the executor packs it; or `[]`, a line break, and the lines.
 */
class RoundElement implements ListElement, JournalRound {
  readonly bytes: number;
  readonly journal: RoundJournal;
  readonly most: number;
  readonly left: RetriesLeft;

  constructor({ journal, most, left }: JournalRound) {
    this.journal = journal;
    this.most = most;
    this.left = left;
    this.bytes = ELEMENT_BYTES + journal.bytes + left.length * LEFT_BYTES;
  }

  toText(): string {
    const packed = this.journal.lines > this.most ? null : this.journal.pack();
    return packed === null
      ? toLinesText(toLines(this))
      : `${JSON.stringify([this.journal.lines, ...this.left])}\n${packed}`;
  }
}

// JSON has no line breaks.
const toLinesText = (lines: readonly string[]): string => ['[]', ...lines].join('\n');

/** Lines as one flat text, for they are ropes and slices that keep what they were cut from. */
const toTextElement = (lines: readonly string[]): ListElement => {
  const text = toLinesText(lines);
  return { bytes: ELEMENT_BYTES + textBytes(text), toText: () => text };
};

const readElement = (element: ListElement, unpackRound: UnpackRound): readonly string[] => {
  const text = element.toText();
  const end = text.indexOf('\n');
  const head = text.slice(0, end);
  if (end === -1) return [];
  if (head === '[]') return text.slice(end + 1).split('\n');
  const left = readHead(head);
  return unpackRound(text.slice(end + 1)).map((line) => toJournalText(line, (tool) => retriesLeftOf(left, tool)));
};

// A damaged head is that of no tool.
const readHead = (head: string): readonly unknown[] => {
  try {
    const parsed: unknown = JSON.parse(head);
    return Array.isArray(parsed) ? parsed.slice(1) : [];
  } catch {
    return [];
  }
};
