import * as z from 'zod';
import type { JournalLine, RoundJournal, UnpackRound } from '../executor/journal/round-lines.ts';
import type { SessionSettings } from '../executor/session-store.ts';
import type { RedisClient } from './redis-client.ts';

// Late results have lines of their own, and are few: so many of them push no call out.
const LATE_LINES = 32;

/** How many lines are kept, so that those of the last calls are among them; 0 = no journal. */
export const toMaxLines = ({ journal }: Pick<SessionSettings, 'journal'>): number =>
  journal === 0 ? 0 : journal + LATE_LINES;

/** The lines of a round that are kept: the last ones. */
export const toLines = (
  journal: RoundJournal | null,
  { journal: most }: Pick<SessionSettings, 'journal'>,
): readonly JournalLine[] => (journal === null ? [] : journal.render().slice(-most));

/** The line as the journal keeps it, with what its tool has left after the round. journal.lua is the twin. */
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

// A thousand lines in one answer took longer than a command is waited for, and one reader made the store look lost. An
// element may hold the lines of a round.
const ELEMENTS_AT_ONCE = 64;
const Elements = z.array(z.string());

/** The lines of a journal in Redis, oldest first. One that is written meanwhile may show a line less: reading is for people. */
export const readRedisJournal = async (
  client: Pick<RedisClient, 'call'>,
  key: string,
  unpackRound: UnpackRound,
): Promise<readonly string[]> => {
  const elements: string[] = [];
  for (;;) {
    const last = elements.length + ELEMENTS_AT_ONCE - 1;
    const page = Elements.parse(await client.call('LRANGE', key, String(elements.length), String(last)));
    elements.push(...page);
    if (page.length < ELEMENTS_AT_ONCE) return elements.flatMap((element) => readElement(element, unpackRound));
  }
};

const readElement = (element: string, unpackRound: UnpackRound): readonly string[] => {
  const end = element.indexOf('\n');
  if (!element.startsWith('[') || end === -1) return [element];
  const left = readHead(element.slice(0, end));
  return unpackRound(element.slice(end + 1)).map((line) => toJournalText(line, (tool) => left.get(tool) ?? null));
};

// As journal.lua tells it. A damaged head is that of no tool; the JSON parser would throw.
const HEAD = /^\[\d+(?:,"(?:[^"\\]|\\.)*",\d+)*\]$/;
const Head = z.tuple([z.int().nonnegative()], z.union([z.string(), z.number()]));

const readHead = (head: string): ReadonlyMap<string, number> => {
  const [, ...words] = Head.safeParse(HEAD.test(head) ? JSON.parse(head) : null).data ?? [0];
  const left = new Map<string, number>();
  for (let at = 0; at + 1 < words.length; at += 2) {
    const [tool, count] = [words[at], words[at + 1]];
    if (typeof tool === 'string' && typeof count === 'number') left.set(tool, count);
  }
  return left;
};
