import type { Redactor } from 'recourse-server/executor/redactor';
import type { Check, Sought } from './checks.ts';
import type { Look, LookClaim, LookEnd, LookVerdict } from './effects/effect-decisions.ts';
import type { Effect, EffectEnd } from './effects/effect-kind.ts';

/** How a look has ended, as it is counted. `too_early`: the run could still act. `failed`: the check has thrown, or not answered. */
export const LOOK_RESULTS = ['happened', 'did_not_happen', 'unclear', 'too_early', 'failed'] as const;
export type LookResult = (typeof LOOK_RESULTS)[number];

/** Where an effect is looked at: in the store, or beside a batch that nothing outlives. */
export type Ledger = {
  readonly claim: (checkMs: number, afterMs: number) => Promise<LookClaim>;
  readonly endLook: (
    look: Look,
    found: LookEnd,
    terms: { readonly delays: readonly number[]; readonly afterMs: number },
  ) => Promise<LookVerdict>;
};

export type LookerOptions = {
  readonly delays: readonly number[];
  readonly redactor: Pick<Redactor, 'value' | 'cutToolText'>;
  readonly looked: (tool: string, result: LookResult) => void;
  /** A check did not do what it is for. */
  readonly onProblem: (about: { readonly tool: string; readonly effectId: string; readonly problem: string }) => void;
};

/** What one look has come to. `none`: it was not taken, and may be in so many milliseconds; null: there is nothing to look for. */
export type LookStep =
  | { readonly kind: 'settled'; readonly effect: Effect }
  | { readonly kind: 'unclear'; readonly nextMs: number }
  | { readonly kind: 'none'; readonly retryAfterMs: number | null };

// The answer of a check, and of the store.
const LOOK_SLACK_MS = 5000;
const MAX_MESSAGE_LENGTH = 2000;

/** Looks for effects, one process at a time. Rejects where the store fails. */
export class Looker {
  readonly #options: LookerOptions;
  /** Tools whose check has said of a write that it did not happen, which then ended. Until this process ends. */
  readonly #distrusted = new Set<string>();

  constructor(options: LookerOptions) {
    this.#options = options;
  }

  /** `readSought`: what the check is asked; null: that does not open here. */
  async lookOnce(
    ledger: Ledger,
    check: Check,
    limitMs: number,
    readSought: (effect: Effect) => Sought | null,
  ): Promise<LookStep> {
    const { delays, looked, onProblem } = this.#options;
    const { afterMs } = check;
    const claim = await ledger.claim(check.timeoutMs + LOOK_SLACK_MS, afterMs);
    if (claim.kind === 'gone') return { kind: 'none', retryAfterMs: null };
    if (claim.kind === 'busy') return { kind: 'none', retryAfterMs: claim.retryAfterMs };
    if (claim.kind === 'settled') return claim;
    const sought = readSought(claim.effect);
    if (sought === null) return { kind: 'none', retryAfterMs: null };
    const { found, problem } = await check.run(sought, Math.min(check.timeoutMs, limitMs));
    if (problem !== null) onProblem({ tool: sought.tool, effectId: sought.effectId, problem });
    const believed = this.#believe(sought.tool, found);
    const verdict = await ledger.endLook(claim.look, believed, { delays, afterMs });
    if (verdict.kind === 'overtaken') return { kind: 'none', retryAfterMs: 0 };
    looked(sought.tool, classifyLook(problem !== null, verdict));
    return verdict;
  }

  distrust(tool: string): void {
    this.#distrusted.add(tool);
  }

  #believe(tool: string, found: LookEnd): LookEnd {
    if (found.kind === 'unclear') return found;
    if (found.end.verdict === 'did_not_happen' && this.#distrusted.has(tool))
      return { kind: 'unclear', retryAfterMs: null };
    return { kind: 'found', end: this.#redact(found.end) };
  }

  #redact(end: EffectEnd): EffectEnd {
    const { redactor } = this.#options;
    const message = end.message === '' ? '' : redactor.cutToolText(end.message, MAX_MESSAGE_LENGTH, 'result');
    return { ...end, message, valueJson: redactor.value(end.valueJson, 'result') };
  }
}

const classifyLook = (hasFailed: boolean, verdict: Exclude<LookVerdict, { kind: 'overtaken' }>): LookResult => {
  if (verdict.kind === 'settled') return verdict.effect.end?.verdict ?? 'unclear';
  if (hasFailed) return 'failed';
  return verdict.isTooEarly ? 'too_early' : 'unclear';
};
