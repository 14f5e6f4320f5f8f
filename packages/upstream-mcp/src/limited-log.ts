import { withLookahead } from 'recourse-server/tools/describe-value';
import type { ToolLog } from 'recourse-server/tools/tool';

const WINDOW_MS = 10_000;
const MOST_LINES = 20;
const MOST_CHARACTERS = 500;

export type BoundedLog = (message: string, text: string) => void;

/** Writes what a server says or does wrong: cut, and at most 20 lines in 10 s; the next window tells how many were not. */
export const createBoundedLog = (log: ToolLog, level: 'info' | 'warn'): BoundedLog => {
  let window = { startedAt: Number.NEGATIVE_INFINITY, lines: 0 };
  return (message, text) => {
    if (Date.now() - window.startedAt >= WINDOW_MS) {
      const unwritten = window.lines - MOST_LINES;
      if (unwritten > 0) log[level]('lines of an MCP server suppressed', { lines: unwritten });
      window = { startedAt: Date.now(), lines: 0 };
    }
    window.lines += 1;
    if (window.lines <= MOST_LINES) log[level](message, { text: withLookahead(text, MOST_CHARACTERS) });
  };
};

const MOST_DOUBLINGS = 6;
const FRESH = { nextAt: Number.NEGATIVE_INFINITY, written: 0, unwritten: 0 } as const;

/** Logs what fails again and again: at once, then after pauses that double, up to 64 times the first one. */
export const createFadingLog = (log: ToolLog, message: string, firstPauseMs: number) => {
  let state: { readonly nextAt: number; readonly written: number; readonly unwritten: number } = FRESH;
  return {
    failed: (cause: string): void => {
      const { nextAt, written, unwritten } = state;
      if (Date.now() < nextAt) {
        state = { nextAt, written, unwritten: unwritten + 1 };
        return;
      }
      log.warn(message, { cause, ...(unwritten === 0 ? {} : { not_logged: unwritten }) });
      const pauseMs = firstPauseMs * 2 ** Math.min(written, MOST_DOUBLINGS);
      state = { nextAt: Date.now() + pauseMs, written: written + 1, unwritten: 0 };
    },
    /** The next failure is logged at once again. */
    worked: (): void => {
      state = FRESH;
    },
  };
};
