import type { Round, SessionSettings } from '../../executor/session-store.ts';

/** What admit.lua is told of a round; it says in which order. */
export const toAdmitWords = (round: Round, settings: SessionSettings): readonly string[] => {
  const positions = toPositions(round);
  const { sessionRetries, cooldownMs, ttlMs, maxCalls, maxRounds } = settings;
  const numbers = [Math.ceil(round.leaseMs), ttlMs, sessionRetries, cooldownMs, maxCalls, maxRounds];
  return [
    toPackedWords([
      round.batchId,
      round.roundId ?? '',
      ...numbers.map(String),
      String(round.tools.length),
      ...round.tools.flatMap((tool) => [
        tool.name,
        String(tool.retries),
        tool.maxCalls === null ? '' : String(tool.maxCalls),
        tool.effects === 'read' || tool.polling ? '' : '1',
      ]),
      ...round.calls.flatMap(({ tool, mark, counts }) => [
        positions.get(tool) ?? '0',
        mark?.digest() ?? '',
        counts ? '1' : '',
      ]),
    ]),
  ];
};

/** Texts as one argument, a JSON array. Half of a character is written as U+FFFD, as Redis would get it by itself. */
export const toPackedWords = (words: readonly string[]): string =>
  JSON.stringify(words.every((word) => word.isWellFormed()) ? words : words.map((word) => word.toWellFormed()));

/** Where each of a round's tools stands, from 1. */
export const toPositions = ({ tools }: Round): ReadonlyMap<string, string> =>
  new Map(tools.map(({ name }, position) => [name, String(position + 1)]));
