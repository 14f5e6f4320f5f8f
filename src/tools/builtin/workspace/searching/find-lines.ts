import type { Match } from '../search-messages.ts';

export type FoundLine = Omit<Match, 'path'>;

export type LineSearch = {
  /** In lower case, without line ends. */
  readonly needle: string;
  /** How many lines are enough. */
  readonly wanted: number;
  /** Performance time at which it ends with what it has found. */
  readonly endsAt: number;
};

/** The lines of `text` that hold the needle in upper or lower case. Yields between steps of some milliseconds. */
export function* findLines(text: string, search: LineSearch): Generator<undefined, readonly FoundLine[]> {
  // Most files hold nothing, and are done without being cut into lines.
  if ((yield* findIn(text.toLowerCase(), search)) < 0) return [];
  const found: FoundLine[] = [];
  let line = 0;
  for (const content of linesOf(text)) {
    if (found.length >= search.wanted) break;
    line += 1;
    const at = yield* findIn(content.toLowerCase(), search);
    if (at >= 0) found.push({ line, text: toExcerpt(content.replace(/\r$/, ''), at) });
    if (line % LINES_A_STEP === 0) yield;
  }
  return found;
}

const LINES_A_STEP = 4096;

// One after the other: two million empty lines at once would be an array of 16 MB.
function* linesOf(text: string): Generator<string> {
  for (let start = 0; ; ) {
    const end = text.indexOf('\n', start);
    if (end < 0) return yield text.slice(start);
    yield text.slice(start, end);
    start = end + 1;
  }
}

// A needle and a text can be made so that looking through 2 MiB takes a second; through this much it takes milliseconds.
const WINDOW = 16_384;

/** Where the needle begins, -1 where it is not there or the time is over. */
function* findIn(lower: string, { needle, endsAt }: LineSearch): Generator<undefined, number> {
  if (lower.length <= WINDOW) return lower.indexOf(needle);
  for (let from = 0; from < lower.length && performance.now() < endsAt; from += WINDOW) {
    const at = lower.slice(from, from + WINDOW + needle.length - 1).indexOf(needle);
    if (at >= 0) return from + at;
    yield;
  }
  return -1;
}

const MAX_EXCERPT = 300;
const BEFORE_MATCH = 100;

const toExcerpt = (line: string, at: number): string => {
  if (line.length <= MAX_EXCERPT) return line;
  const from = Math.max(0, Math.min(at - BEFORE_MATCH, line.length - MAX_EXCERPT));
  const to = from + MAX_EXCERPT;
  return `${from > 0 ? '…' : ''}${line.slice(from, to)}${to < line.length ? '…' : ''}`.toWellFormed();
};
