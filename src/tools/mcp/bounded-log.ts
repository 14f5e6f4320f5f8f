import { withLookahead } from '../describe-value.ts';
import type { ToolLog } from '../tool.ts';

const WINDOW_MS = 10_000;
const MOST_LINES = 20;
const MOST_CHARACTERS = 500;

export type BoundedLog = (message: string, text: string) => void;

/** Writes what a server says or does wrong: cut, and at most 20 lines in 10 s; the next window tells how many were not. */
export const createBoundedLog = (
  log: ToolLog,
  { level, now }: { readonly level: 'info' | 'warn'; readonly now: () => number },
): BoundedLog => {
  let windowFrom = Number.NEGATIVE_INFINITY;
  let written = 0;
  let unwritten = 0;
  return (message, text) => {
    if (now() - windowFrom >= WINDOW_MS) {
      if (unwritten > 0) log[level]('lines of an MCP server were not logged', { lines: unwritten });
      windowFrom = now();
      written = 0;
      unwritten = 0;
    }
    if (written >= MOST_LINES) {
      unwritten += 1;
      return;
    }
    written += 1;
    log[level](message, { text: withLookahead(text, MOST_CHARACTERS) });
  };
};
