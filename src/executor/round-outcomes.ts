import { FAILURE_POLICY } from '../contract/failure.ts';
import type { CallEnd } from './call-end.ts';
import { bucketOf } from './find-obstacle.ts';
import type { Redactor } from './redaction/redactor.ts';
import type { ResolvedCall } from './resolve-call.ts';
import type { ToolOutcome } from './session-store.ts';

/** Whether this end counts as a failure of the tool in its session. */
const isCharged = (end: CallEnd): boolean =>
  end.kind === 'failure' && !end.failure.fatal && FAILURE_POLICY[end.failure.code].charges !== false;

const isInterrupted = (end: CallEnd): boolean =>
  end.kind === 'failure' && end.failure.code === 'cancelled' && end.failure.executed !== 'no';

/** How the round went, tool by tool: several failures of one tool are one mistake, one success beside them is progress. */
export const toRoundOutcomes = (
  ends: readonly { readonly call: ResolvedCall; readonly end: CallEnd }[],
  redactor: Pick<Redactor, 'cut'>,
): readonly ToolOutcome[] => {
  const outcomes = new Map<string, ToolOutcome>();
  for (const { call, end } of ends) {
    const name = bucketOf(call);
    const so = outcomes.get(name) ?? { name, failed: false, succeeded: false, interrupted: false, error: '' };
    outcomes.set(name, {
      name,
      failed: so.failed || isCharged(end),
      succeeded: so.succeeded || end.kind === 'success',
      interrupted: so.interrupted || isInterrupted(end),
      // Several failures of one round are one mistake: the first speaks for it.
      error:
        so.error === '' && isCharged(end) && end.kind === 'failure' ? toLine(end.failure.message, redactor) : so.error,
    });
  }
  return [...outcomes.values()];
};

const MAX_LINE = 200;
// It is kept, and others of the tenant read it: what the caller sent is redacted here, too.
const toLine = (message: string, redactor: Pick<Redactor, 'cut'>): string =>
  redactor.cut(message.replace(/\s+/g, ' '), MAX_LINE, 'journal');
