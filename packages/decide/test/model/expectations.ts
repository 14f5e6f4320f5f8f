import { expect } from 'vitest';
import { RUN_LEASE_MS } from '#src/effects/effect-decisions.ts';
import type { Effect, EffectEnd } from '#src/effects/effect-kind.ts';

/** A request under the key that has asked for its write to begin. */
export type Attempt = {
  /** When its run began in the record: its place among all events, and the store's time; null: it has not. */
  begun: { readonly order: number; readonly at: number; readonly fence: number } | null;
};

/** A run of the write's handler, as it is in truth. */
export type Run = {
  readonly began: { readonly order: number; readonly at: number; readonly fence: number };
  /** `running`: its caller waits for it. `late`: it goes on after its answer. `over`: it does nothing more. */
  state: 'running' | 'late' | 'over';
  hasActed: boolean;
  /** What its process reports of its end; null: it does not know, or has not ended. */
  executed: 'yes' | 'no' | null;
  /** The place of its end among all events; 0: it has not ended. */
  ended: number;
  /** Until when its process holds it. */
  leaseEndsAt: number;
  /** Nothing held it, after its time, for a while. */
  hasLapsed: boolean;
  isEndAsked: boolean;
  /** A verdict had said otherwise when its end came to the record. */
  isContradiction: boolean;
  isEndAnswered: boolean;
};

/** What a step changed in the record of the effect. */
export type Change = {
  readonly before: Effect | null;
  readonly after: Effect | null;
  /** The store's time. */
  readonly now: number;
  readonly begins: Attempt | null;
  readonly ends: Run | null;
};

type Accepted = Pick<EffectEnd, 'verdict' | 'by'> & { readonly order: number };

// As `beginRun` has it: what a handler does after its time, and the word of that.
const GRACE_MS = 1000;

/**
 * What there is in truth: the runs, and the ledger that their write reaches; and what must hold of the records for it. `isStrict`: checks
 * and people tell the truth, and no run acts after it may. `slackMs`: how far clocks of the store may be apart.
 */
export class Expectations {
  readonly isStrict: boolean;
  readonly #timeoutMs: number;
  readonly #slackMs: number;
  readonly runs: Run[] = [];
  readonly ledger: Run[] = [];
  readonly accepted: Accepted[] = [];
  effect: Effect | null = null;
  /** How often a contradiction was told. */
  told = 0;
  #order = 0;
  readonly #broken: unknown[] = [];

  constructor(terms: { readonly isStrict: boolean; readonly timeoutMs: number; readonly slackMs: number }) {
    this.isStrict = terms.isStrict;
    this.#timeoutMs = terms.timeoutMs;
    this.#slackMs = terms.slackMs;
  }

  /** The place of an event among all. */
  nextOrder(): number {
    this.#order += 1;
    return this.#order;
  }

  /** Throws what was held wrong. */
  throwBroken(): void {
    for (const error of this.#broken) throw error;
  }

  /** What processes do about an error of theirs must not hide one of these. */
  hold(expectation: () => void): void {
    try {
      expectation();
    } catch (error) {
      this.#broken.push(error);
    }
  }

  readonly changed = (change: Change): void => {
    const { before, after, ends } = change;
    this.effect = after;
    const order = this.nextOrder();
    const isBegun = after?.state === 'running' && (before?.state !== 'running' || before.fence !== after.fence);
    if (isBegun) this.#noteBegin(change, after.fence, order);
    this.#noteLease(change);
    if (ends !== null) this.#noteEnd(ends);
    else if (after?.state === 'settled' && before?.state !== 'settled') this.#noteVerdict(after.end, order);
  };

  #noteBegin({ begins, now }: Change, fence: number, order: number): void {
    // Looking begins no run.
    this.hold(() => expect(begins).not.toBeNull());
    if (begins !== null) begins.begun = { order, at: now, fence };
  }

  #noteVerdict(end: EffectEnd | null, order: number): void {
    // A run that did not begin is withdrawn.
    if (end === null || end.by === 'run') return;
    this.accepted.push({ ...end, order });
    if (this.isStrict && end.verdict === 'did_not_happen') this.hold(() => expect(this.ledger).toHaveLength(0));
  }

  #noteLease({ before, after, now }: Change): void {
    if (after === null || after.state === 'settled') return;
    const isLate = before !== null && before.leaseEndsAt <= now;
    for (const run of this.runs) {
      if (run.began.fence !== after.fence) continue;
      const isRevived = isLate && after.leaseEndsAt > run.leaseEndsAt && now + this.#slackMs >= this.#endOf(run);
      run.hasLapsed ||= isRevived;
      run.leaseEndsAt = after.leaseEndsAt;
    }
  }

  #noteEnd(run: Run): void {
    if (run.executed === null) return;
    const verdict = this.verdictOn(run)?.verdict;
    run.isContradiction = verdict !== undefined && (verdict === 'happened') !== (run.executed === 'yes');
  }

  /** The first verdict that was accepted since it began. */
  verdictOn({ began }: Run): Accepted | undefined {
    return this.accepted.find(({ order }) => order > began.order);
  }

  #endOf({ began }: Run): number {
    return began.at + this.#timeoutMs + GRACE_MS;
  }

  /** A handler begins. Of all that have begun before it is known, or accepted, that they came to nothing. */
  begin(began: NonNullable<Attempt['begun']>): Run {
    const run: Run = {
      ...{ began, state: 'running', hasActed: false, executed: null, ended: 0 },
      ...{
        leaseEndsAt: began.at + RUN_LEASE_MS,
        hasLapsed: false,
        isEndAsked: false,
        isContradiction: false,
        isEndAnswered: false,
      },
    };
    for (const other of this.runs) {
      const [first, second] = other.began.order < began.order ? [other, run] : [run, other];
      const ruledOut = this.verdictOn(first);
      const isRuledOut = ruledOut?.verdict === 'did_not_happen' && ruledOut.order < second.began.order;
      const isOnly = isRuledOut || first.executed === 'no';
      this.hold(() => expect({ first, second, isOnly }).toMatchObject({ isOnly: true }));
    }
    this.runs.push(run);
    return run;
  }

  /** Whether the run may take effect at this time of the store. */
  mayAct(run: Run, time: number): boolean {
    if (run.hasActed || run.state === 'over') return false;
    if (!this.isStrict || time + this.#slackMs < this.#endOf(run)) return true;
    return run.leaseEndsAt > time + this.#slackMs && !run.hasLapsed;
  }

  /** Whether a person may say so at this time of the store. */
  isKnown(verdict: EffectEnd['verdict'], time: number): boolean {
    if (verdict === 'happened') return this.ledger.length > 0;
    const { leaseEndsAt = 0, actsUntil = 0 } = this.effect ?? {};
    return this.ledger.length === 0 && Math.max(leaseEndsAt, actsUntil) + this.#slackMs <= time;
  }

  /** The write of a run reaches the ledger. */
  act(run: Run): void {
    run.hasActed = true;
    this.ledger.push(run);
    if (!this.isStrict) return;
    this.hold(() => {
      expect(this.verdictOn(run)?.verdict).not.toBe('did_not_happen');
      expect(this.ledger).toHaveLength(1);
    });
  }

  /** A handler ends. */
  end(run: Run, executed: Run['executed']): void {
    Object.assign(run, { state: 'over', executed, ended: this.nextOrder() });
  }

  /** What a request is answered that came after so many events: what was accepted to have happened, unless a run had said before that it did not. */
  expectAnswer(kind: 'success' | 'failure', order: number): void {
    const happened = this.accepted.find(({ verdict }) => verdict === 'happened');
    if (happened === undefined || happened.order >= order) return;
    const isRefused = this.runs.some(({ ended, executed }) => executed === 'no' && ended < happened.order);
    if (!isRefused) this.hold(() => expect(kind).toBe('success'));
  }

  /** Every end that came to the record was told if a verdict had said otherwise, and nothing else was. */
  expectContradictions(): void {
    expect(this.told).toBe(this.runs.filter((run) => run.isContradiction && run.isEndAnswered).length);
  }
}
