import type { ToolLog } from '../tool.ts';

const MOST_DOUBLINGS = 6;

/** Logs what fails again and again: at once, then after pauses that double, up to 64 times the first one. */
export type FadingLog = {
  readonly failed: (cause: string) => void;
  /** The next failure is logged at once again. */
  readonly worked: () => void;
};

export const createFadingLog = (
  log: ToolLog,
  {
    message,
    firstPauseMs,
    now,
  }: { readonly message: string; readonly firstPauseMs: number; readonly now: () => number },
): FadingLog => {
  let nextAt = Number.NEGATIVE_INFINITY;
  let written = 0;
  let unwritten = 0;
  return {
    failed: (cause) => {
      if (now() < nextAt) {
        unwritten += 1;
        return;
      }
      log.warn(message, { cause, ...(unwritten === 0 ? {} : { not_logged: unwritten }) });
      nextAt = now() + firstPauseMs * 2 ** Math.min(written, MOST_DOUBLINGS);
      written += 1;
      unwritten = 0;
    },
    worked: () => {
      nextAt = Number.NEGATIVE_INFINITY;
      written = 0;
      unwritten = 0;
    },
  };
};
