/** Takes lines as fast as they come and hands them on so that the process has time for everything else. */
export type LinePace = {
  readonly add: (line: string) => void;
};

export type LinePaceOptions = {
  /** Whether the line was something that may be sent so. */
  readonly take: (line: string) => boolean;
  /** Reads no further, and reads on. */
  readonly pause: () => void;
  readonly resume: () => void;
  /** It sends more than anybody can listen to: why, one clause. */
  readonly flooded: (why: string) => void;
};

const LINES_A_TURN = 100;
// A busy server reports progress some hundred times a second.
const MOST_LINES_A_SECOND = 5_000;
const MOST_FAULTS_IN_A_ROW = 1_000;

/**
 * A hundred lines a turn of the event loop, one after the other with room in between: the SDK hears of progress a moment
 * later, and would have forgotten the call by then if its answer came in the same chunk.
 */
export const createLinePace = ({ take, pause, resume, flooded }: LinePaceOptions): LinePace => {
  let lines: string[] = [];
  let isDraining = false;
  let faults = 0;
  let second = { startedAt: 0, lines: 0 };
  const count = (isGood: boolean): void => {
    const now = performance.now();
    if (now - second.startedAt > 1_000) second = { startedAt: now, lines: 0 };
    second.lines += 1;
    faults = isGood ? 0 : faults + 1;
    if (faults > MOST_FAULTS_IN_A_ROW) flooded('it keeps writing something else than messages');
    else if (second.lines > MOST_LINES_A_SECOND) flooded('it sends more messages than can be read');
  };
  const drain = async (): Promise<void> => {
    while (lines.length > 0) {
      const turn = lines.slice(0, LINES_A_TURN);
      lines = lines.slice(LINES_A_TURN);
      for (const line of turn) {
        count(take(line));
        await undefined;
      }
      await new Promise((resolve) => void setImmediate(resolve));
    }
    isDraining = false;
    resume();
  };
  return {
    add: (line) => {
      lines.push(line);
      if (isDraining) return;
      isDraining = true;
      pause();
      // Lines of one chunk are added together, before the first of them is taken.
      queueMicrotask(() => void drain());
    },
  };
};
