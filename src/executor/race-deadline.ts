import type { Tool } from '../tools/tool.ts';
import type { RunEnd, RunTerms } from './run-end.ts';

export type Deadline = Pick<RunTerms, 'timeoutMs' | 'end'> & { readonly context: Pick<RunTerms['context'], 'abort'> };

/**
 * The end of `work`, or of its time, or of its batch: whichever comes first. `work` gives null where there is nothing
 * to say any more, because it was stopped after its end had been told.
 */
export const raceDeadline = (
  work: Promise<RunEnd | null>,
  tool: Pick<Tool, 'effects'>,
  terms: Deadline,
): Promise<RunEnd> =>
  new Promise((resolve) => {
    const settle = (end: RunEnd): void => {
      clearTimeout(timer);
      unsubscribe();
      resolve(end);
    };
    const timeOut = (): void => {
      settle({ kind: 'timed_out', limitMs: terms.timeoutMs, late: work });
      terms.context.abort(new DOMException('The deadline of this call passed.', 'TimeoutError'));
    };
    const unsubscribe = terms.end.onEnd((cause) => {
      if (cause === 'deadline') return timeOut();
      // A write that runs is let finish: cutting it off would only hide what it did (semantics, section 5).
      if (cause === 'client_gone' && tool.effects === 'write') return undefined;
      settle({ kind: 'cut_off', late: work });
      return terms.context.abort(new DOMException('Nobody waits for this call any more.', 'AbortError'));
    });
    const timer = setTimeout(timeOut, terms.timeoutMs);
    work.then(
      (end) => end === null || settle(end),
      (thrown: unknown) => settle({ kind: 'threw', thrown }),
    );
  });
