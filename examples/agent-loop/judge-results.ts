import type { Event } from './states.ts';
import type { ToolResult } from './tool-result.ts';

/** What the results of a turn mean for the run, and why. */
export type Judgement = {
  readonly event: Extract<Event, 'observed' | 'budget_gone' | 'fatal_failure'>;
  readonly reason: string;
};

/**
 * Decides by the fields of the results, never by their text: the text is the model's.
 * `fatal` says that the tool wants the whole run to end. A refusal for want of budget says that asking again is
 * pointless. Everything else, failures included, goes to the model, who may do better.
 */
export const judgeResults = (results: readonly ToolResult[]): Judgement => {
  const fatal = results.find(({ error }) => error?.fatal === true);
  if (fatal !== undefined) return { event: 'fatal_failure', reason: fatal.message };
  const refused = results.find(
    ({ outcome, error, retry }) =>
      outcome === 'refused' && error?.code === 'retry_budget_exhausted' && retry?.allowed === false,
  );
  if (refused !== undefined) return { event: 'budget_gone', reason: refused.message };
  return { event: 'observed', reason: '' };
};
