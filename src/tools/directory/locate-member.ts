import type { SourcePlace } from './source-place.ts';

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
export const locateMember = (text: string, place: SourcePlace, member: string): SourcePlace | null => {
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
