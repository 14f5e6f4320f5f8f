import { MARKS } from './marks.ts';

const MAX_SNIPPET = 400;
const BEFORE_MATCH = 120;

/** A snippet on one line, at most some 400 characters around its first match: one word may be a megabyte. */
export const toSnippet = (text: string): string => {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  if (line.length <= MAX_SNIPPET) return line.toWellFormed();
  const at = Math.max(0, line.indexOf(MARKS.open));
  const from = Math.max(0, Math.min(at - BEFORE_MATCH, line.length - MAX_SNIPPET));
  const to = from + MAX_SNIPPET;
  return `${from > 0 ? '…' : ''}${line.slice(from, to)}${to < line.length ? '…' : ''}`.toWellFormed();
};
