import type { Round, SessionSettings } from '../../executor/session-store.ts';
import { hexRecords } from './hex-records.ts';

// The flags of a call, as clean-admit.lua names them.
const COUNTS = 1;
const HAS_PRINT = 2;

/** What admit.lua is told of a round; clean-admit.lua says in which order. */
export const toAdmitWords = (round: Round, settings: SessionSettings): readonly string[] => {
  const { sessionRetries, cooldownMs, ttlMs, maxCalls, maxRounds } = settings;
  const tools = round.tools.map(({ name, retries, maxCalls: most, effects, polling }) => [
    name.toWellFormed(),
    retries,
    most ?? '',
    effects === 'read' || polling ? 0 : 1,
  ]);
  let counted = 0;
  const position = toPosition(round);
  hexRecords.begin();
  for (const { tool, mark, counts } of round.calls) {
    if (counts) counted += 1;
    hexRecords.addPosition(position(tool));
    hexRecords.addByte((counts ? COUNTS : 0) + (mark === null ? 0 : HAS_PRINT));
    hexRecords.addPrint(mark === null ? 0 : mark.print);
  }
  const calls = hexRecords.take();
  const terms = `${Math.ceil(round.leaseMs)} ${ttlMs} ${sessionRetries} ${cooldownMs} ${maxCalls} ${maxRounds} ${counted}`;
  return [round.batchId, round.roundId ?? '', terms, JSON.stringify(tools), calls];
};

/** Texts as one argument, a JSON array. Half of a character is written as U+FFFD, as Redis would get it by itself. */
export const toPackedWords = (words: readonly string[]): string =>
  JSON.stringify(words.every((word) => word.isWellFormed()) ? words : words.map((word) => word.toWellFormed()));

/** Where each of a round's tools stands, from 1; 0 for what is none of them. */
export const toPosition = ({ tools }: Pick<Round, 'tools'>): ((name: string) => number) => {
  const [only] = tools;
  if (only === undefined || tools.length > 1) {
    const positions = new Map(tools.map(({ name }, at) => [name, at + 1]));
    return (name) => positions.get(name) ?? 0;
  }
  return (name) => (name === only.name ? 1 : 0);
};
