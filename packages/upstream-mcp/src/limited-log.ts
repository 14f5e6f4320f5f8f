import { withLookahead } from 'recourse-server/tools/describe-value';
import type { ToolLog } from 'recourse-server/tools/tool';

const WINDOW_MS = 10_000;
const MOST_LINES = 20;
const MOST_CHARACTERS = 500;

export type BoundedLog = (message: string, text: string) => void;

/** Writes what a server says or does wrong: cut, and at most 20 lines in 10 s; the next window tells how many were not. */
export const createBoundedLog = (log: ToolLog, level: 'info' | 'warn'): BoundedLog => {
  let [startedAt, lines] = [Number.NEGATIVE_INFINITY, 0];
  return (message, text) => {
    if (Date.now() - startedAt >= WINDOW_MS) {
      if (lines > MOST_LINES) log[level]('lines of an MCP server suppressed', { lines: lines - MOST_LINES });
      [startedAt, lines] = [Date.now(), 0];
    }
    lines += 1;
    if (lines <= MOST_LINES) log[level](message, { text: withLookahead(text, MOST_CHARACTERS) });
  };
};

const MOST_DOUBLINGS = 6;

/** Logs what fails again and again: at once, then after pauses that double, up to 64 times the first one. */
export const createFadingLog = (log: ToolLog, message: string, firstPauseMs: number) => {
  let [nextAt, written, unwritten] = [Number.NEGATIVE_INFINITY, 0, 0];
  return {
    failed: (cause: string): void => {
      if (Date.now() < nextAt) {
        unwritten += 1;
        return;
      }
      log.warn(message, { cause, ...(unwritten === 0 ? {} : { not_logged: unwritten }) });
      nextAt = Date.now() + firstPauseMs * 2 ** Math.min(written, MOST_DOUBLINGS);
      [written, unwritten] = [written + 1, 0];
    },
    /** The next failure is logged at once again. */
    worked: (): void => {
      [nextAt, written, unwritten] = [Number.NEGATIVE_INFINITY, 0, 0];
    },
  };
};
