import type { JournalLine } from '../../executor/journal/round-lines.ts';
import type { CallEnding, Round, SessionSettings, ToolOutcome } from '../../executor/session-store.ts';
import { type AdmittedTool, isLetIn } from '../rules/admit-budgets.ts';
import { toMaxLines } from '../rules/journal-text.ts';
import { toErrorLine } from '../rules/settle-budgets.ts';
import type { Settlement } from '../rules/settlement.ts';
import { toPackedWords, toPosition } from './admit-words.ts';
import { toPrintText } from './hex-records.ts';

const ENDING = { not_run: 'n', other: 'o', looped: 'l', failed: 'f', answered: 'a' } as const satisfies Record<
  CallEnding,
  string
>;

/** What settle-words.lua is told of a round that was admitted so; settle.lua says in which order. */
export const toSettleWords = (
  round: Round,
  admitted: { readonly born: string; readonly guardStep: number; readonly tools: ReadonlyMap<string, AdmittedTool> },
  settlement: Omit<Settlement, 'journal'> & {
    readonly journal: readonly JournalLine[];
    readonly lines: 'kept' | 'refused';
  },
  settings: SessionSettings,
): readonly string[] => {
  const position = toPosition(round);
  const endings = [...settlement.endings].flatMap(([tool, ofTool]) =>
    [...ofTool].map(([print, { ending, answer }]) => [
      String(position(tool)),
      toPrintText(print),
      ENDING[ending],
      typeof answer === 'number' ? toPrintText(answer) : '',
    ]),
  );
  const { ttlMs, sessionRetries } = settings;
  const numbers = [ttlMs, sessionRetries, toMaxLines(settings), admitted.guardStep, settlement.unused.total];
  const words = [
    admitted.born,
    ...numbers.map(String),
    String(round.tools.length),
    String(endings.length),
    settlement.lines === 'refused' ? '1' : '',
    ...round.tools.flatMap(({ name, retries }) => [
      name,
      String(retries),
      ...toHold(admitted.tools.get(name)),
      ...toWords(settlement.outcomes.find((outcome) => outcome.name === name)),
      String(settlement.unused.ofTool.get(name) ?? 0),
      settlement.changers.has(name) ? '1' : '',
    ]),
    ...endings.flat(),
    ...settlement.journal.map(({ tool }) => String(tool === null ? 0 : position(tool))),
  ];
  return [toPackedWords(words), ...settlement.journal.map(({ json }) => json)];
};

const toHold = (tool: AdmittedTool | undefined): readonly string[] => {
  if (tool === undefined || !isLetIn(tool)) return ['none', '', '0'];
  return [tool.permit.decision, tool.claimId ?? '', String(tool.epoch)];
};

// Of a tool that nobody speaks of nothing is to be settled: as if it had been cut off.
const toWords = (outcome: ToolOutcome | undefined): readonly string[] =>
  outcome === undefined ? ['interrupted', ''] : [toWord(outcome), toErrorLine(outcome.error)];

const toWord = ({ failed, succeeded, interrupted }: ToolOutcome): string => {
  if (failed) return succeeded ? 'mixed' : 'failed';
  if (succeeded) return 'succeeded';
  return interrupted ? 'interrupted' : 'neither';
};
