import type { CallOutcome } from 'recourse-server/executor/call-outcome';
import type { Cancellation } from 'recourse-server/executor/deadline';
import type { RecordState } from 'recourse-server/executor/idempotency-store';
import type { Reconciler, UnknownRun, Write } from 'recourse-server/executor/reconciler';
import type { Tool } from 'recourse-server/tools/tool';
import { type Check, createEnd, type Sought } from './checks.ts';
import { adoptRun, claimLook, endLook, noteRunOver, type RunEnd } from './effects/effect-decisions.ts';
import { type Effect, effectKeyOf, type StoredEffect } from './effects/effect-kind.ts';
import type { EffectStore } from './effects/effect-store.ts';
import type { Ledger, Looker, LookStep } from './looker.ts';
import { createSettledOutcome, describeFailure, withCheckAhead } from './settled-outcome.ts';

export type ReconcilerOptions = {
  readonly effects: EffectStore;
  readonly looker: Looker;
  readonly findCheck: (tool: string) => Check | null;
  /** Milliseconds of a clock that never goes back: that of deadlines. */
  readonly now: () => number;
  /** The store's, in Unix milliseconds. */
  readonly time: () => number;
  /** Calls back again and again, so many milliseconds apart, until it is called off; left out: by Node's timers. */
  readonly every?: (listener: () => void, ms: number) => () => void;
  readonly onFailed: (error: unknown) => void;
  /** A run has ended otherwise than a verdict had said. */
  readonly onContradiction: (write: Pick<Write, 'tenant' | 'effectId'> & { readonly tool: string }) => void;
  /** What was found out of a run that another batch has begun. */
  readonly apply: (key: string, effect: Effect) => Promise<void>;
};

/** By the write as it was noted: of one effect two runs may be here, of which a verdict has ruled out the first. */
type Runs = Map<Write, { readonly key: string; readonly fence: number }>;

const RENEW_EVERY_MS = 1500;
// Less is not worth a look.
const LEAST_MS = 20;
// A pending call keeps nobody waiting: what is not found out by then is, while it goes on being looked for, unknown.
const MOST_OF_PENDING_MS = 10_000;
const PAUSE_MS = 250;
// A run of which nothing is kept has ended at most so long ago: who looks for what is younger must not miss it.
const SINCE_END_MS = 1000;

/** Looks for writes beside their batches, and keeps what others need to look for them afterwards. */
export const createReconciler = (options: ReconcilerOptions): Reconciler & { readonly close: () => void } => {
  const { effects, findCheck, onFailed, onContradiction, every = repeat } = options;
  const runs: Runs = new Map();
  const renewAll = (): void => {
    for (const { key, fence } of runs.values()) void effects.renew(key, fence).catch(onFailed);
  };
  const stopRenewing = every(renewAll, RENEW_EVERY_MS);
  const quietly = (step: Promise<unknown>): void => void step.catch(onFailed);

  const begin = async (write: Write, mark: Promise<RecordState>): Promise<RecordState> => {
    const key = effectKeyOf(write);
    const beginning = effects.begin(write).catch((error: unknown) => {
      onFailed(error);
      return AWAY;
    });
    const [marked, begun] = await Promise.all([mark, beginning]);
    if (marked === 'held' && begun.kind === 'held') runs.set(write, { key, fence: begun.fence });
    else if (begun.kind === 'held') quietly(effects.withdraw(key, begun.fence));
    return marked === 'held' ? begun.kind : marked;
  };

  const end = async (key: string, fence: number, { tenant, effectId, tool }: Write, runEnd: RunEnd) => {
    const told = await effects.end(key, fence, runEnd);
    if (told === 'contradiction') onContradiction({ tenant, effectId, tool: tool.name });
    await effects.enterEnded(key, told);
  };

  const ended = (write: Write, outcome: CallOutcome): void => {
    const run = runs.get(write);
    if (run === undefined) return;
    runs.delete(write);
    const { key, fence } = run;
    // A handler that ends after its time without saying what it did can at least do no more.
    if (isUnknown(outcome)) quietly(effects.noteOver(key, fence));
    else quietly(end(key, fence, write, describeRunEnd(outcome)));
  };

  const settle = async (write: Write, unknown: UnknownRun): Promise<CallOutcome> => {
    const check = findCheck(write.tool.name);
    if (check === null) return unknown.outcome;
    try {
      return await new UnknownWrite(write, unknown, check, { ...options, runs }).settle();
    } catch (error) {
      onFailed(error);
      return unknown.outcome;
    }
  };
  return {
    covers: ({ name, effects: does }: Tool) => does === 'write' && findCheck(name) !== null,
    begin,
    ended,
    settle,
    close: stopRenewing,
  };
};

const AWAY = { kind: 'away' } as const;

const repeat = (listener: () => void, ms: number): (() => void) => {
  const timer = setInterval(listener, ms).unref();
  return () => clearInterval(timer);
};

const isUnknown = (outcome: CallOutcome): boolean =>
  outcome.kind === 'failure' && outcome.failure.outcome === 'unknown';

const describeRunEnd = (outcome: CallOutcome): RunEnd => {
  if (outcome.kind === 'failure') return { executed: outcome.failure.executed, end: null };
  const { valueJson, message, executed } = outcome;
  return { executed, end: { ...createEnd('run', 'happened', { message }), valueJson } };
};

/** One write that is looked for while its caller waits. */
class UnknownWrite {
  readonly #write: Write;
  readonly #unknown: UnknownRun;
  readonly #check: Check;
  readonly #options: ReconcilerOptions & { readonly runs: Runs };
  readonly #key: string;
  /** Whether something of it outlives its batch. */
  readonly #isRecorded: boolean;

  constructor(write: Write, unknown: UnknownRun, check: Check, options: ReconcilerOptions & { readonly runs: Runs }) {
    this.#write = write;
    this.#unknown = unknown;
    this.#check = check;
    this.#options = options;
    this.#key = effectKeyOf(write);
    this.#isRecorded = write.places.length > 0 || write.handle !== null;
  }

  async settle(): Promise<CallOutcome> {
    const { outcome, run } = this.#unknown;
    const ledger = this.#isRecorded ? await this.#openRecord() : this.#openBesideBatch();
    const effect = (await this.#look(ledger)) ?? (await this.#findSettled());
    const settled = effect === null ? null : createSettledOutcome(effect);
    if (effect === null || settled === null) return this.#isRecorded ? withCheckAhead(outcome) : outcome;
    // The batch itself answers its own run, and keeps, counts and writes down what that came to.
    if (this.#isRecorded && run === 'own') await this.#options.effects.markApplied(this.#key, effect.fence);
    if (run !== 'own') await this.#options.apply(this.#key, effect);
    return settled;
  }

  /** What somebody else has found out, also where no time is left to look. */
  async #findSettled(): Promise<Effect | null> {
    const found = this.#isRecorded ? await this.#options.effects.find(this.#key) : null;
    return found?.effect.state === 'settled' ? found.effect : null;
  }

  async #openRecord(): Promise<Ledger> {
    const { effects, runs, onFailed } = this.#options;
    const { outcome, late, run: whose } = this.#unknown;
    const key = this.#key;
    const failure = describeFailure(outcome, this.#write.sessionKey !== null);
    const run = runs.get(this.#write);
    if (run !== undefined) {
      if (late === null) runs.delete(this.#write);
      // What its handler comes to is reported by who writes it down; that its process was killed is said by nobody else.
      void late?.then((end) => {
        const isOver = end === null ? runs.delete(this.#write) : isUnknown(end);
        if (isOver) effects.noteOver(key, run.fence).catch(onFailed);
      });
      await effects.open(key, run.fence, failure, late === null);
    } else if (whose !== 'other') await effects.adopt(this.#write, failure);
    return {
      claim: (checkMs, afterMs) => effects.claim(key, checkMs, afterMs),
      endLook: (look, found, terms) => effects.endLook(key, look, found, terms),
    };
  }

  /** Of a call that nothing is kept of: the same steps on a record that only this batch knows. */
  #openBesideBatch(): Ledger {
    const { time } = this.#options;
    const { outcome, late, ranMs } = this.#unknown;
    const stored: StoredEffect = { effect: null };
    const failure = describeFailure(outcome, false);
    adoptRun({ creation: '', spec: '', timeoutMs: 0, failure })(stored, time());
    const leaseEndsAt = late === null ? 0 : Number.POSITIVE_INFINITY;
    if (stored.effect !== null)
      Object.assign(stored.effect, {
        startedAt: Math.floor(time() - ranMs - SINCE_END_MS),
        actsUntil: time(),
        leaseEndsAt,
      });
    void late?.then(() => noteRunOver(1)(stored, time()));
    return {
      claim: async (checkMs, afterMs) => claimLook(checkMs, afterMs)(stored, time()),
      endLook: async (look, found, terms) => endLook(look, found, terms)(stored, time()),
    };
  }

  async #look(ledger: Ledger): Promise<Effect | null> {
    const { looker, now } = this.#options;
    const { cancellation } = this.#unknown;
    const until = this.#write.handle === null ? Number.POSITIVE_INFINITY : now() + MOST_OF_PENDING_MS;
    for (;;) {
      const leftMs = this.#leftMs(until);
      if (leftMs < LEAST_MS) return null;
      const step = await looker.lookOnce(ledger, this.#check, leftMs - LEAST_MS / 2, (effect) =>
        this.#describeSought(effect),
      );
      if (step.kind === 'settled') return step.effect;
      const waitMs = findWaitMs(step);
      if (waitMs > this.#leftMs(until) - LEAST_MS) return null;
      await pause(waitMs, cancellation);
    }
  }

  /** How long its caller waits yet. */
  #leftMs(until: number): number {
    const { cancellation } = this.#unknown;
    const moment = this.#options.now();
    return cancellation.causeAt(moment) === null ? Math.min(cancellation.remainingAt(moment), until - moment) : 0;
  }

  #describeSought({ startedAt }: Effect): Sought {
    const { tool, input, ...about } = this.#write;
    return { ...about, tool: tool.name, input, startedAt };
  }
}

const findWaitMs = (step: Exclude<LookStep, { kind: 'settled' }>): number => {
  if (step.kind === 'unclear') return step.nextMs;
  // Another process that looks may have found it out before its time is over.
  return step.retryAfterMs === null ? Number.POSITIVE_INFINITY : Math.min(step.retryAfterMs, PAUSE_MS);
};

/** Waits so long, or until the batch is over. */
const pause = (ms: number, cancellation: Cancellation): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      stop();
      unsubscribe();
      resolve();
    };
    const stop = cancellation.startTimer(end, ms);
    const unsubscribe = cancellation.onCancel(end);
  });
