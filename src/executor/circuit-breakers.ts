import type { Tool } from '../tools/tool.ts';
import type { CallOutcome } from './call-outcome.ts';

type Arguments = Readonly<Record<string, unknown>>;

/** A call that runs behind a breaker, or why it does not. */
export type CircuitPass =
  | { readonly kind: 'passed'; readonly ended: (end: CallOutcome, limit: 'own' | 'shortened') => void }
  | { readonly kind: 'refused'; readonly retryAfterMs: number };

/**
 * A breaker per tool, or per upstream where the tool's arguments name one (`breakerKey`). It opens by faults of the
 * tool and of its upstream, never by what a model did wrong. Tools that say which upstream they share have one breaker.
 */
export type CircuitBreakers = {
  /** Milliseconds until the call may be tried; null where it may run now. Changes nothing. */
  readonly refusal: (tool: Tool, input: Arguments) => number | null;
  /** Lets the call run, as the probe where one is due. Faults of one `batch` count once. */
  readonly begin: (tool: Tool, input: Arguments, batch: WeakKey) => CircuitPass;
};
