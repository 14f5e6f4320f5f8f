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

type Token = { readonly kind: 'word' | 'sign'; readonly name: string; readonly offset: number };

/** The members of the object literal that the text begins with: words before a sign that ends a member's name. */
const listMembers = (literal: string): readonly Token[] => {
  const tokens = listTokens(literal);
  const members: Token[] = [];
  let depth = 0;
  let mayBeMember = false;
  for (const [at, token] of tokens.entries()) {
    if (token.kind === 'word' && mayBeMember && endsName(tokens[at + 1])) members.push(token);
    depth += token.kind === 'sign' ? (DEPTH[token.name] ?? 0) : 0;
    if (depth === 0) break;
    if (token.kind === 'sign') mayBeMember = depth === 1 && ',{*'.includes(token.name);
  }
  return members;
};

const endsName = (next: Token | undefined): boolean => next?.kind === 'sign' && ':,(}'.includes(next.name);

const listTokens = (text: string): readonly Token[] => {
  const tokens: Token[] = [];
  for (const { groups = {}, index } of text.matchAll(TOKEN)) {
    const word = groups['word'] ?? groups['text']?.slice(1, -1);
    if (word !== undefined) tokens.push({ kind: 'word', name: word, offset: index });
    else if (groups['sign'] !== undefined) tokens.push({ kind: 'sign', name: groups['sign'], offset: index });
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
