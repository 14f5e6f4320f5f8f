import { relative } from 'node:path';
import type { ToolFile } from '../tool.ts';
import { locateMember } from './locate-member.ts';
import type { SourcePlace } from './source-place.ts';

/** Something wrong with a tool file, and where: what `GET /tools`, the log and `recourse check` say of it. */
export type LoadProblem = {
  /** `error`: the file, or a tool of it, does not serve. `warning`: it serves, and may not do what its author expects. */
  readonly level: 'error' | 'warning';
  /** Relative to the tools directory. */
  readonly file: string;
  /** Counted from 1, as editors do. */
  readonly line: number | null;
  readonly column: number | null;
  readonly tool: string | null;
  /** The member of the declaration: `input`, `timeoutMs`. */
  readonly member: string | null;
  /** One sentence or two: what is wrong, and what to write instead. */
  readonly message: string;
  /** The source line, and below it a line with a caret. */
  readonly excerpt: string | null;
};

/** A problem of a file of which no more is known than a text. */
export const toPlainProblem = (file: string, message: string): LoadProblem => ({
  level: 'error',
  file,
  line: null,
  column: null,
  tool: null,
  member: null,
  message,
  excerpt: null,
});

export type FoundProblem = Pick<LoadProblem, 'message'> &
  Partial<Pick<LoadProblem, 'level' | 'tool' | 'member'>> & { readonly place: SourcePlace | null };

/** The problem with its line and excerpt, of the member where the source shows it; else of where the tool is declared. */
export const toLoadProblem = (file: ToolFile, { place, ...found }: FoundProblem): LoadProblem => {
  const plain = { ...toPlainProblem(relative(file.root, file.path), found.message), ...found };
  const text = place === null ? undefined : file.sources.get(place.path);
  if (place === null || text === undefined) return plain;
  const { member = null } = found;
  const { path, line, column } = (member === null ? null : locateMember(text, place, member)) ?? place;
  return { ...plain, file: relative(file.root, path), line, column, excerpt: toExcerpt(text, line, column) };
};

const MOST_SHOWN = 120;

const toExcerpt = (text: string, line: number, column: number): string | null => {
  const whole = (text.split('\n')[line - 1] ?? '').replaceAll('\t', ' ').trimEnd();
  if (whole === '') return null;
  // Of a line that was made by a machine the part around the place.
  const from =
    whole.length <= MOST_SHOWN
      ? whole.search(/\S/)
      : toWordStart(whole, Math.max(0, column - 1 - MOST_SHOWN / 2), column);
  const caret = ' '.repeat(Math.max(0, column - 1 - from));
  return `${whole.slice(from, toWordEnd(whole, from + MOST_SHOWN, column))}\n${caret}^`;
};

// Half a secret is not known for one, and so not redacted: what a cut goes through is left out as a whole.
const WORD = /[\w+/=.~%-]/;

const isInWord = (line: string, at: number): boolean => WORD.test(line[at - 1] ?? ' ') && WORD.test(line[at] ?? ' ');

const toWordStart = (line: string, from: number, column: number): number => {
  let start = from;
  while (start < column - 1 && isInWord(line, start)) start += 1;
  return start;
};

const toWordEnd = (line: string, to: number, column: number): number => {
  let end = to;
  while (end > column && isInWord(line, end)) end -= 1;
  return end;
};

/** `rooms.ts:12:3`; the file alone where the line is not known. */
export const toPlaceText = ({ file, line, column }: Pick<LoadProblem, 'file' | 'line' | 'column'>): string =>
  line === null ? file : `${file}:${line}:${column ?? 1}`;

/** The problem as one line, its place in front where it is known. */
export const toProblemLine = (problem: LoadProblem): string =>
  problem.line === null ? problem.message : `${toPlaceText(problem)}: ${problem.message}`;

/** The same, and below it the source line with its caret. */
export const toProblemText = (problem: LoadProblem): string =>
  [toProblemLine(problem), ...(problem.excerpt === null ? [] : [problem.excerpt])].join('\n');
