import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ToolFile } from 'recourse-server/tools/tool';
import { isOwnSource } from './tool-imports.ts';

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

type FoundProblem = Pick<LoadProblem, 'message'> &
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

// Comments and blanks; texts and templates, which may hold brackets; words; any other sign.
const TOKEN =
  /(?<blank>\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\/)|(?<text>'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\[\s\S]|[^`\\])*`)|(?<word>[\w$]+)|(?<sign>[\s\S])/g;
const DEPTH: Readonly<Record<string, number>> = { '{': 1, '[': 1, '(': 1, '}': -1, ']': -1, ')': -1 };
// A declaration that is longer than this has its member elsewhere.
const MOST_LOOKED_AT = 20_000;

/**
 * Where in a source text the object literal that is given to the call at `place` has this member; null where it has none
 * that a short look finds. It reads brackets, texts and comments, and no more of the language.
 */
const locateMember = (text: string, place: SourcePlace, member: string): SourcePlace | null => {
  const start = toOffset(text, place);
  const opening = text.indexOf('(', start);
  const brace = opening === -1 ? -1 : text.slice(opening + 1).search(/\S/) + opening + 1;
  if (opening === -1 || text[brace] !== '{') return null;
  const literal = text.slice(brace, brace + MOST_LOOKED_AT);
  for (const { name, offset } of listMembers(literal))
    if (name === member) return { path: place.path, ...toLineAndColumn(text, brace + offset) };
  return null;
};

type Token = {
  readonly kind: 'word' | 'sign';
  readonly name: string;
  readonly offset: number;
  /** How many brackets are open behind it. */
  readonly depth: number;
  /** The sign before it. */
  readonly after: string;
};

/** The members of the object literal that the text begins with: words between a comma and what ends a member's name. */
const listMembers = (literal: string): readonly Token[] => {
  const tokens = listTokens(literal);
  const end = tokens.findIndex(({ depth }) => depth === 0);
  return tokens.slice(0, end === -1 ? undefined : end).filter((token, at) => {
    const next = tokens[at + 1];
    const isNamed = token.kind === 'word' && token.depth === 1 && ',{*'.includes(token.after);
    return isNamed && next?.kind === 'sign' && ':,(}'.includes(next.name);
  });
};

const listTokens = (text: string): readonly Token[] => {
  const tokens: Token[] = [];
  let depth = 0;
  let after = '';
  for (const { groups = {}, index: offset } of text.matchAll(TOKEN)) {
    const { sign, text: quoted, word = quoted?.slice(1, -1) } = groups;
    depth += DEPTH[sign ?? ''] ?? 0;
    if (word !== undefined) tokens.push({ kind: 'word', name: word, offset, depth, after });
    if (sign === undefined) continue;
    tokens.push({ kind: 'sign', name: sign, offset, depth, after });
    after = sign;
  }
  return tokens;
};

const toOffset = (text: string, { line, column }: SourcePlace): number => {
  const before = text.split('\n').slice(0, line - 1);
  return before.reduce((offset, { length }) => offset + length + 1, 0) + column - 1;
};

/** Line and column of an offset, both counted from 1. */
export const toLineAndColumn = (text: string, offset: number): Pick<SourcePlace, 'line' | 'column'> => {
  const lines = text.slice(0, offset).split('\n');
  return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };
};

/** A place in a source file: an absolute path, and line and column, both counted from 1. */
export type SourcePlace = { readonly path: string; readonly line: number; readonly column: number };

const FRAME = /(?:\(|^\s*at (?:async )?)((?:file:\/\/)?\/[^\n]*?)(?:\?[^:\n]*)?:(\d+):(\d+)\)?$/;
// Where a module's own code begins: what is below belongs to whoever loads it.
const LOADER = /\(?node:internal\/modules\//;
// Of a syntax error V8 and the type stripper write the place above the message: `file:///a.ts:3`, the line, and a caret.
const HEAD = /^((?:file:\/\/)?\/[^\n]*?)(?:\?[^:\n]*)?:(\d+)\n/;
const CARET = /^[ \t]*(?=\^+[ \t]*$)/m;

/** The places of a stack that lie in a directory, the innermost first, up to the module that was being loaded. */
export const findPlaces = (stack: string, root: string): readonly SourcePlace[] => {
  const places: SourcePlace[] = [];
  for (const line of stack.split('\n')) {
    if (LOADER.test(line)) break;
    const place = toPlace(FRAME.exec(line));
    if (place !== null && isOwnSource(place.path, root)) places.push(place);
  }
  return places;
};

/** The place that stands above the message of a syntax error; null where none does, or it lies outside of the directory. */
export const findPlaceOfSyntax = (stack: string, root: string): SourcePlace | null => {
  const head = HEAD.exec(stack);
  if (head === null) return null;
  const caret = CARET.exec(stack);
  const place = toPlace([...head, String((caret?.[0].length ?? 0) + 1)]);
  return place !== null && isOwnSource(place.path, root) ? place : null;
};

const toPlace = (found: readonly (string | undefined)[] | null): SourcePlace | null => {
  if (found === null) return null;
  const [, url = '', line = '1', column = '1'] = found;
  const path = url.startsWith('file:') ? toPath(url) : url;
  return path === null ? null : { path, line: Number(line), column: Number(column) };
};

const toPath = (url: string): string | null => (URL.canParse(url) ? fileURLToPath(url) : null);
