import * as z from 'zod';
import type { UnpackRound } from '../executor/journal/round-lines.ts';
import type { RedisClient } from './redis-client.ts';
import { toJournalText } from './rules/journal-text.ts';

// A thousand lines in one answer took longer than a command is waited for, and one reader made the store look lost. An
// element may hold the lines of a round.
const ELEMENTS_AT_ONCE = 64;
const Elements = z.array(z.string());
// As journal.lua tells it.
const Head = z.tuple([z.int().nonnegative()], z.union([z.string(), z.number()]));

/** The lines of a journal, oldest first. One that is written meanwhile may show a line less: reading is for people. */
export const readJournal = async (
  client: RedisClient,
  key: string,
  unpackRound: UnpackRound,
): Promise<readonly string[]> => {
  const elements: string[] = [];
  for (;;) {
    const last = elements.length + ELEMENTS_AT_ONCE - 1;
    const page = Elements.parse(await client.call('LRANGE', key, String(elements.length), String(last)));
    elements.push(...page);
    if (page.length < ELEMENTS_AT_ONCE) return elements.flatMap((element) => toLines(element, unpackRound));
  }
};

const toLines = (element: string, unpackRound: UnpackRound): readonly string[] => {
  const end = element.indexOf('\n');
  if (!element.startsWith('[') || end === -1) return [element];
  const left = readLeft(element.slice(0, end));
  return unpackRound(element.slice(end + 1)).map((line) => toJournalText(line, (tool) => left.get(tool) ?? null));
};

const readLeft = (head: string): ReadonlyMap<string, number> => {
  const left = new Map<string, number>();
  const read = Head.safeParse(parseHead(head));
  if (!read.success) return left;
  const [, ...words] = read.data;
  for (let at = 0; at + 1 < words.length; at += 2) {
    const [tool, count] = [words[at], words[at + 1]];
    if (typeof tool === 'string' && typeof count === 'number') left.set(tool, count);
  }
  return left;
};

// A damaged head is that of no tool; the JSON parser would throw.
const HEAD = /^\[\d+(?:,"(?:[^"\\]|\\.)*",\d+)*\]$/;
const parseHead = (head: string): unknown => (HEAD.test(head) ? JSON.parse(head) : null);
