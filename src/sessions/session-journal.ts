import type { JournalLine, RoundJournal, SessionSettings, UnpackRound } from '../executor/session-store.ts';
import { parseJson } from '../json/parse-json.ts';
import { textBytes } from '../memory/bounded-store.ts';
import type { RetriesLeft } from './rules/rounds.ts';

/**
 * What a session knows of its journal. The lines are in a list that only grows at its end: those of a round are one element.
 * Lines of refused calls at the end stay here until another follows, for the next refused call may replace one of them.
 *
 * | a line is   | in                      | becomes                                                             |
 * |-------------|-------------------------|---------------------------------------------------------------------|
 * | refused     | `tail`                  | replaced by an equal call that is refused a little later; else listed |
 * | another     | the list, after `tail`, which is listed first | dropped, once `maxLines` later ones are stored |
 * | a late one  | `tail` where that has lines, else the list    | the same                                |
 */
export type SessionJournal = {
  /** How many lines each element of the list has that is still stored. Oldest first. */
  counts: number[];
  /** Of all these elements. */
  lines: number;
  tail: readonly string[];
  /** Elements that are not in the list yet. */
  added: readonly string[];
  /** Lines were left out, for the store had no room for them. */
  isTruncated: boolean;
};

const NO_LINES: readonly string[] = [];

export const createSessionJournal = (): SessionJournal => ({
  counts: [],
  lines: 0,
  tail: NO_LINES,
  added: NO_LINES,
  isTruncated: false,
});

// Late results have lines of their own, and are few: so many of them push no call out.
const LATE_LINES = 32;

/** How many lines a journal has, so that those of the last calls are among them; 0 = no journal. */
export const maxLinesOf = ({ journal }: Pick<SessionSettings, 'journal'>): number =>
  journal === 0 ? 0 : journal + LATE_LINES;

/** A round that is to be stored: the last `most` lines of its journal, and what its tools have left after it. */
type JournalRound = { readonly journal: RoundJournal; readonly most: number; readonly left: RetriesLeft };

/** Adds the lines of a round; `maxLines` stay. Changes `journal`. */
export const addRound = (journal: SessionJournal, round: JournalRound, maxLines: number): void => {
  const { refused } = round.journal;
  if (refused === 0) addElement(journal, toElement(round), Math.min(round.journal.lines, round.most));
  else {
    const lines = renderLines(round);
    const others = lines.slice(0, -refused);
    if (others.length > 0) addElement(journal, joinLines(others), others.length);
    for (const line of lines.slice(-refused)) journal.tail = addRefused(journal.tail, line);
  }
  dropSurplus(journal, maxLines);
};

/** Adds the line of a late result. Changes `journal`. */
export const addLate = (journal: SessionJournal, line: string, maxLines: number): void => {
  if (journal.tail.length > 0) journal.tail = [...journal.tail, line];
  else addElement(journal, joinLines([line]), 1);
  dropSurplus(journal, maxLines);
};

const POINTER_BYTES = 8;

/** What the lines take of the heap that are not in the list, in bytes. */
export const weighTail = ({ tail }: SessionJournal): number =>
  tail.reduce((sum, line) => sum + POINTER_BYTES + textBytes(line), 0);

/** What has been added since this was asked last. Changes `journal`. */
export const takeAdded = (journal: SessionJournal): readonly string[] => {
  const { added } = journal;
  journal.added = NO_LINES;
  return added;
};

/** All lines, oldest first. `elements`: of the list, as many as there are still. */
export const readJournal = (
  { counts, tail }: SessionJournal,
  elements: readonly string[],
  { maxLines, unpackRound }: { readonly maxLines: number; readonly unpackRound: UnpackRound },
): readonly string[] => {
  const listed = counts.slice(Math.max(0, counts.length - elements.length));
  const lines = elements.flatMap((element, at) => readElement(element, unpackRound).slice(-(listed[at] ?? 0)));
  return [...lines, ...tail].slice(-maxLines);
};

const addElement = (journal: SessionJournal, element: string, lines: number): void => {
  const { tail } = journal;
  journal.tail = NO_LINES;
  if (tail.length > 0) addElement(journal, joinLines(tail), tail.length);
  journal.added = journal.added.length === 0 ? [element] : [...journal.added, element];
  journal.counts.push(lines);
  journal.lines += lines;
};

// The text of a line has a backslash before each quote, so it never contains this.
const REFUSED = '"outcome":"refused"';
const REPEATS = /"repeats":(\d{1,15})\}$/;
// Of how many of the last refused calls one may be equal to the next: a loop goes round a few calls.
const EQUAL_WITHIN = 8;

/** The line replaces that of an equal call which was refused a little before, and counts it. */
const addRefused = (tail: readonly string[], line: string): readonly string[] => {
  const key = findRepeatKey(line);
  const from = Math.max(0, tail.length - EQUAL_WITHIN);
  const found = key === null ? -1 : tail.findLastIndex((former, at) => at >= from && findRepeatKey(former) === key);
  if (found === -1) return [...tail, line];
  const repeats = Number(REPEATS.exec(tail[found] ?? '')?.[1] ?? 1) + 1;
  return [...tail.toSpliced(found, 1), `${line.slice(0, -1)},"repeats":${repeats}}`];
};

/** What refused calls share that repeat each other: tool, name, arguments and code. null for other lines. */
const findRepeatKey = (line: string): string | null => {
  const sent = line.includes(REFUSED) ? /"tool":.*?,"arguments":/.exec(line) : null;
  const code = /"code":"\w+"/.exec(line);
  return sent === null || code === null ? null : sent[0] + code[0];
};

// What is read may begin in the middle of the first element. The last call that was not refused stays: it is the cause of the others.
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

/** A line as it is stored: with what its tool has left after the round. The names come from a text that may be damaged. */
const completeLine = ({ tool, json }: JournalLine, left: readonly unknown[]): string => {
  const count = tool !== null && left.includes(tool) ? left[left.indexOf(tool) + 1] : null;
  const text = typeof count === 'number' ? count : 'null';
  return `${json.slice(0, -1)}${json === '{}' ? '' : ','}"retries_left":${text}}`;
};

const renderLines = ({ journal, most, left }: JournalRound): readonly string[] =>
  journal
    .render()
    .slice(-most)
    .map((line) => completeLine(line, left));

/**
 * A round as one text: `[lines, tool, what it has left after the round, tool, ...]`, a line break and the round as the executor packs
 * it, which is rendered when it is read; or `[]`, a line break, and the lines. One text, for whatever else there were of a round
 * would be copied by garbage collections for as long as its journal lives.
 */
const toElement = (round: JournalRound): string => {
  const { journal, most, left } = round;
  const packed = journal.lines > most ? null : journal.pack();
  return packed === null ? joinLines(renderLines(round)) : `${JSON.stringify([journal.lines, ...left])}\n${packed}`;
};

// JSON has no line breaks.
const joinLines = (lines: readonly string[]): string => ['[]', ...lines].join('\n');

const readElement = (text: string, unpackRound: UnpackRound): readonly string[] => {
  const end = text.indexOf('\n');
  if (end === -1) return [];
  const head = text.slice(0, end);
  if (head === '[]') return text.slice(end + 1).split('\n');
  // A damaged head is that of no tool.
  const parsed = parseJson(head);
  const left: readonly unknown[] = parsed.ok && Array.isArray(parsed.value) ? parsed.value.slice(1) : [];
  return unpackRound(text.slice(end + 1)).map((line) => completeLine(line, left));
};
