import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ToolFile } from 'recourse-server/tools/tool';
import { isOwnSource } from './tool-imports.ts';

/** Something wrong with a tool file, and where: what `GET /tools`, the log and `recourse check` say of it. */
export type LoadProblem = {
  /**
   * `error`: the file, or a tool of it, does not serve. `mistake`: it serves, and a part of it cannot work. `warning`: it serves, and
   * may not do what its author expects.
   */
  readonly level: 'error' | 'mistake' | 'warning';
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
export const createPlainProblem = (file: string, message: string): LoadProblem => ({
  level: 'error',
  file,
  line: null,
  column: null,
  tool: null,
  member: null,
  message,
  excerpt: null,
});

type FoundProblem = Pick<LoadProblem, 'message'> &
  Partial<Pick<LoadProblem, 'level' | 'tool' | 'member'>> & { readonly place: SourcePlace | null };

/** The problem with its line and excerpt, of the member where the source shows it; else of where the tool is declared. */
export const createLoadProblem = (file: ToolFile, { place, ...found }: FoundProblem): LoadProblem => {
  const plain = { ...createPlainProblem(relative(file.root, file.path), found.message), ...found };
  const text = place === null ? undefined : file.sources.get(place.path);
  if (place === null || text === undefined) return plain;
  const { member = null } = found;
  const { path, line, column } = (member === null ? null : locateMember(text, place, member)) ?? place;
  return { ...plain, file: relative(file.root, path), line, column, excerpt: createExcerpt(text, line, column) };
};

// A longer line was made by a machine. It is not cut: half a secret is not known for one, and so not redacted.
const MOST_SHOWN = 120;

const createExcerpt = (text: string, line: number, column: number): string | null => {
  const whole = (text.split('\n')[line - 1] ?? '').replaceAll('\t', ' ').trimEnd();
  const shown = whole.trimStart();
  if (shown === '' || shown.length > MOST_SHOWN) return null;
  return `${shown}\n${' '.repeat(Math.max(0, column - 1 - (whole.length - shown.length)))}^`;
};

/** `rooms.ts:12:3`; the file alone where the line is not known. */
export const formatPlace = ({ file, line, column }: Pick<LoadProblem, 'file' | 'line' | 'column'>): string =>
  line === null ? file : `${file}:${line}:${column ?? 1}`;

/** The problem as one line, its place in front where it is known. */
export const formatProblemLine = (problem: LoadProblem): string =>
  problem.line === null ? problem.message : `${formatPlace(problem)}: ${problem.message}`;

/** The same, and below it the source line with its caret. */
export const formatProblem = (problem: LoadProblem): string =>
  [formatProblemLine(problem), ...(problem.excerpt === null ? [] : [problem.excerpt])].join('\n');

// A declaration that is longer than this has its member elsewhere.
const MOST_LOOKED_AT = 20_000;

/** Where the declaration that begins at `place` has a line that begins with this member; null where a short look finds none. */
const locateMember = (text: string, place: SourcePlace, member: string): SourcePlace | null => {
  const start = findOffset(text, place);
  const name = member.replace(/\W/g, '\\$&');
  const line = new RegExp(`^([ \\t]*(?:async[ \\t]+)?(?:\\*[ \\t]*)?)['"]?${name}['"]?[ \\t]*[:(,}]`, 'm');
  const found = line.exec(text.slice(start, start + MOST_LOOKED_AT));
  if (found === null) return null;
  return { path: place.path, ...findLineAndColumn(text, start + found.index + (found[1] ?? '').length) };
};

const findOffset = (text: string, { line, column }: SourcePlace): number => {
  const before = text.split('\n').slice(0, line - 1);
  return before.reduce((offset, { length }) => offset + length + 1, 0) + column - 1;
};

/** Line and column of an offset, both counted from 1. */
export const findLineAndColumn = (text: string, offset: number): Pick<SourcePlace, 'line' | 'column'> => {
  const lines = text.slice(0, offset).split('\n');
  return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };
};

/** A place in a source file: an absolute path, and line and column, both counted from 1. */
export type SourcePlace = { readonly path: string; readonly line: number; readonly column: number };

const FRAME = /(?:\(|^\s*at (?:async )?)((?:file:\/\/)?\/[^\n]*?)(?:\?[^:\n]*)?:(\d+):(\d+)\)?$/;
// Where a module's own code begins: what is below belongs to the code that loads it.
const LOADER = /\(?node:internal\/modules\//;
// Of a syntax error V8 and the type stripper write the place above the message: `file:///a.ts:3`, the line, and a caret.
const HEAD = /^((?:file:\/\/)?\/[^\n]*?)(?:\?[^:\n]*)?:(\d+)\n/;
const CARET = /^[ \t]*(?=\^+[ \t]*$)/m;

/** The places of a stack that lie in a directory, the innermost first, up to the module that was being loaded. */
export const findPlaces = (stack: string, root: string): readonly SourcePlace[] => {
  const places: SourcePlace[] = [];
  for (const line of stack.split('\n')) {
    if (LOADER.test(line)) break;
    const place = readPlace(FRAME.exec(line));
    if (place !== null && isOwnSource(place.path, root)) places.push(place);
  }
  return places;
};

/** The place that stands above the message of a syntax error; null where none does, or it lies outside of the directory. */
export const findPlaceOfSyntax = (stack: string, root: string): SourcePlace | null => {
  const head = HEAD.exec(stack);
  if (head === null) return null;
  const caret = CARET.exec(stack);
  const place = readPlace([...head, String((caret?.[0].length ?? 0) + 1)]);
  return place !== null && isOwnSource(place.path, root) ? place : null;
};

const readPlace = (found: readonly (string | undefined)[] | null): SourcePlace | null => {
  if (found === null) return null;
  const [, url = '', line = '1', column = '1'] = found;
  if (url.startsWith('file:') && !URL.canParse(url)) return null;
  const path = url.startsWith('file:') ? fileURLToPath(url) : url;
  return { path, line: Number(line), column: Number(column) };
};
