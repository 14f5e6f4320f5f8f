import type { AnswerMark, AskedTool, Round, RoundReport, SessionSettings } from '../../executor/session-store.ts';
import { MAX_FINGERPRINTS } from '../rules/loop-guard.ts';
import { hexRecords } from './hex-records.ts';

/** What clean-settle.lua is told of a round that ended so; it says in which order. `element` is what the journal is to keep. */
export const toCleanWords = (
  round: Round,
  { calls }: RoundReport,
  { born, element }: { readonly born: string; readonly element: string },
  { settings, maxLines }: { readonly settings: SessionSettings; readonly maxLines: number },
): readonly string[] => {
  const tools = round.tools.map(({ name, retries, effects }) => [
    name.toWellFormed(),
    retries,
    effects !== 'read' && calls.some(({ tool }) => tool === name) ? 1 : 0,
  ]);
  const { ttlMs, sessionRetries } = settings;
  return [born, `${ttlMs} ${sessionRetries} ${maxLines}`, JSON.stringify(tools), toEndings(round, calls), element];
};

// Each tool's first sixteen prints, each once: its last answer counts.
const toEndings = (round: Round, calls: RoundReport['calls']): string => {
  hexRecords.begin();
  for (const [at, { name }] of round.tools.entries())
    for (const [print, answer] of toAnswers(name, calls)) {
      hexRecords.addPosition(at + 1);
      hexRecords.addPrint(print);
      hexRecords.addPrint(answer.print);
    }
  return hexRecords.take();
};

const toAnswers = (name: string, calls: RoundReport['calls']): ReadonlyMap<number, AnswerMark> => {
  const answers = new Map<number, AnswerMark>();
  for (const { tool, mark, answer } of calls) {
    if (mark === null || answer === null || tool !== name) continue;
    if (answers.size < MAX_FINGERPRINTS || answers.has(mark.print)) answers.set(mark.print, answer);
  }
  return answers;
};

/** A packed round as the journal keeps it: how many lines it has, and what each tool has left after it. */
export const toElement = (
  lines: number,
  packed: string,
  tools: readonly AskedTool[],
  sessionRetries: number,
): string => {
  const left = tools.flatMap(({ name, retries }) => [name.toWellFormed(), Math.min(retries, sessionRetries)]);
  return `${JSON.stringify([lines, ...left])}\n${packed}`;
};
