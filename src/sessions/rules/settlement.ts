import type { RoundJournal } from '../../executor/journal/round-lines.ts';
import type { Round, RoundReport, SessionSettings, ToolOutcome } from '../../executor/session-store.ts';
import { isLetIn } from './admit-budgets.ts';
import type { AdmittedRound } from './admit-round.ts';
import { type CountedCalls, toUnusedCalls } from './call-limits.ts';
import { type RoundEndings, toRoundEndings } from './loop-guard.ts';
import { isWorthSettling } from './settle-budgets.ts';

/** What came of a round, in the terms in which every store settles it. */
export type Settlement = {
  /** Of the tools that were let in. */
  readonly outcomes: readonly ToolOutcome[];
  readonly endings: RoundEndings;
  /** Tools by which something has changed: what failed with others may go well now. */
  readonly changers: ReadonlySet<string>;
  readonly unused: CountedCalls;
  /** null where there is none to keep. */
  readonly journal: RoundJournal | null;
};

/** The settlement of a round; null where settling would write nothing. */
export const toSettlement = (
  round: Round,
  { tools, verdicts }: Pick<AdmittedRound, 'tools' | 'verdicts'>,
  report: RoundReport,
  settings: SessionSettings,
): Settlement | null => {
  const outcomes = report.outcomes.filter(({ name }) => isLetIn(tools.get(name)));
  const settlement: Settlement = {
    outcomes,
    endings: isRefused(verdicts) ? new Map() : toRoundEndings(report.calls),
    changers: toChangers(round, report),
    unused: toUnusedCalls(round, verdicts, tools, report.calls),
    journal: settings.journal > 0 ? report.journal : null,
  };
  const isWorth = outcomes.some((outcome) =>
    isWorthSettling(outcome, tools.get(outcome.name)?.claimId === null ? 'nothing' : 'a claim'),
  );
  return isWorth || changesMore(settlement) ? settlement : null;
};

// One round too many is none: nothing but its journal remembers it.
const isRefused = (verdicts: AdmittedRound['verdicts']): boolean =>
  verdicts.some((verdict) => verdict.kind === 'limit' && verdict.of === 'session_rounds');

const changesMore = ({ endings, changers, unused, journal }: Settlement): boolean =>
  endings.size > 0 || changers.size > 0 || unused.total > 0 || journal !== null;

const toChangers = ({ tools }: Round, { calls }: RoundReport): ReadonlySet<string> => {
  const changing = new Set(tools.filter(({ effects }) => effects !== 'read').map(({ name }) => name));
  return new Set(
    calls
      .filter(({ ending }) => ending === 'answered')
      .map(({ tool }) => tool)
      .filter((tool) => changing.has(tool)),
  );
};
