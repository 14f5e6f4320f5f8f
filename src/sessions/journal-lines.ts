import type { JournalLine, SessionSettings } from '../executor/session-store.ts';

// Late results have lines of their own, and are few: so many of them push no call out.
const LATE_LINES = 32;

/** How many lines are kept, so that those of the last calls are among them; 0 = no journal. */
export const toMaxLines = ({ journal }: Pick<SessionSettings, 'journal'>): number =>
  journal === 0 ? 0 : journal + LATE_LINES;

/** The line as the journal keeps it, with what its tool has left after the round. */
export const toJournalText = ({ tool, json }: JournalLine, retriesLeftOf: (tool: string) => number | null): string => {
  const left = tool === null ? null : retriesLeftOf(tool);
  return `${json.slice(0, -1)}${json === '{}' ? '' : ','}"retries_left":${left ?? 'null'}}`;
};

// No text of a line holds this: in it each quote is behind a backslash.
const REFUSED = '"outcome":"refused"';
const REPEATS = /"repeats":(\d{1,15})\}$/;

/** Of how many of the last refused calls one may be equal to the next: a loop goes round a few calls. */
export const EQUAL_WITHIN = 8;

/** What refused calls share that repeat each other: tool, name, arguments and code. null for other lines. */
export const toRepeatKey = (line: string): string | null => {
  const sent = line.includes(REFUSED) ? /"tool":.*?,"arguments":/.exec(line) : null;
  const code = /"code":"\w+"/.exec(line);
  return sent === null || code === null ? null : sent[0] + code[0];
};

/** The line as one for itself and for `former`, which it repeats. */
export const toRepeated = (line: string, former: string): string => {
  const before = Number(REPEATS.exec(former)?.[1] ?? 1);
  return `${line.slice(0, -1)},"repeats":${before + 1}}`;
};
