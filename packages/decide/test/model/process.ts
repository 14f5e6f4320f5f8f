import type { DueIndex } from '@recourse/background/jobs/due-index';
import { createActor } from '@recourse/test-support/keyed-client.ts';
import { type CallOutcome, failed, toFailure } from 'recourse-server/executor/call-outcome';
import { createCancellation } from 'recourse-server/executor/deadline';
import { decideEarlier } from 'recourse-server/executor/earlier-try';
import type { EarlierCall, IdempotencyStore, LeasedRecord } from 'recourse-server/executor/idempotency-store';
import type { UnknownRun, Write } from 'recourse-server/executor/reconciler';
import { toKind } from 'recourse-server/executor/record-lease';
import { NO_NOTES, renderOutcome } from 'recourse-server/executor/render-result';
import { createIdempotencyStore } from 'recourse-server/sessions/idempotency/idempotency-store';
import type { RecordStore } from 'recourse-server/store/record-store';
import { NO_SEALING } from 'recourse-server/store/seals';
import { expect, vi } from 'vitest';
import { createApply } from '#src/apply-verdict.ts';
import { type Check, createEnd } from '#src/checks.ts';
import { type EffectEnd, effectKeyOf } from '#src/effects/effect-kind.ts';
import { EffectStore } from '#src/effects/effect-store.ts';
import { Looker } from '#src/looker.ts';
import { createReconciler } from '#src/reconciler.ts';
import { createSweep } from '#src/sweep.ts';
import type { Attempt, Expectations, Run } from './expectations.ts';
import { type Cause, gateIndex, gateStore } from './gated-store.ts';
import type { Life, Machine } from './machine.ts';

const { tool } = createActor('pay', { effects: 'write' });
const NOBODY = { isGone: () => false, whenGone: () => () => undefined };
const REDACTOR = { value: (json: string) => json, cut: (text: string) => text, cutToolText: (text: string) => text };
const CALL = { kind: 'ready', name: 'pay', tool, refusal: null } as const;
const CHECK_MS = 1000;
// Longer than a lease and a look.
const BATCH_MS = 12_000;

/** How a check goes. */
export const CHECKS = ['truth', 'unclear', 'lie', 'throws', 'hangs'] as const;
export type CheckMode = (typeof CHECKS)[number];

/** How a handler ends. `unknown`: nobody can say what it did, and it does nothing more. */
export type Ending = 'success' | 'refused' | 'never_began' | 'unknown' | 'timeout';

/** What all processes of a schedule have in common. */
export type World = {
  readonly machine: Machine;
  readonly expected: Expectations;
  readonly name: string;
  readonly timeoutMs: number;
  readonly nextCheck: () => CheckMode;
};

/** A run in a process: how its end is told. */
export type Handler = { readonly run: Run; readonly process: Process; end: (how: Ending) => void };

type Told = { readonly outcome: CallOutcome; readonly late: Promise<CallOutcome | null> | null };

const OUTCOMES: Readonly<Record<Ending, CallOutcome>> = {
  success: { kind: 'success', executed: 'yes', valueJson: '{"paid":true}', message: '', marks: [], warnings: [] },
  refused: failed(toFailure('retry_requested', 'no', tool, { executed: 'no' })),
  never_began: failed(toFailure('tool_crashed', 'no', tool, { executed: 'no', outcome: 'retry' })),
  unknown: failed(toFailure('tool_crashed', 'no', tool)),
  timeout: failed(toFailure('timeout', 'no', tool)),
};
const EXECUTED = { success: 'yes', refused: 'no', never_began: 'no', unknown: null, timeout: null } as const;

const away = (): 'away' => 'away';
let requests = 0;

/** A process with everything of the service that concerns one keyed write; what the executor does around it is here. */
export class Process {
  readonly life: Life = { state: 'live', faults: 0 };
  readonly keys: IdempotencyStore;
  readonly effects: EffectStore;
  readonly handlers: Handler[] = [];
  readonly time: () => number;
  readonly #world: World;
  readonly #apply: ReturnType<typeof createApply>;
  readonly #sweep: ReturnType<typeof createSweep>;
  readonly #reconciler: ReturnType<typeof createReconciler>;
  readonly #records = new Set<LeasedRecord>();
  readonly #key: string;
  #cause: Cause = { begins: null, ends: null };
  #renewRuns: () => void = () => undefined;

  constructor(world: World, store: RecordStore, live: DueIndex) {
    const { machine, expected, name } = world;
    this.#world = world;
    this.#key = effectKeyOf({ tenant: 't', effectId: `e_${name}` });
    this.time = store.now;
    const gated = gateStore(store, {
      ...{ machine, life: this.life, cause: () => this.#cause, onChange: expected.changed },
      onAnswer: ({ ends }) => {
        if (ends !== null) ends.isEndAnswered = true;
      },
    });
    this.keys = createIdempotencyStore({ store: gated, durability: 'durable' });
    this.effects = new EffectStore({ store: gated, sealing: NO_SEALING, live: gateIndex(live, machine, this.life) });
    const onFailed = (): void => undefined;
    const looker = new Looker({
      ...{ delays: [1000, 5000, 10_000], redactor: REDACTOR, looked: () => undefined, onProblem: () => undefined },
    });
    const check = this.#createCheck();
    const { effects, keys, time } = this;
    const { now } = machine;
    const apply = createApply({
      ...{ effects, keys, redactor: REDACTOR, time, settleGrant: async () => undefined, onApplied: () => undefined },
      settlePending: async () => true,
      sessions: { resume: unexpected },
      webhooks: { emit: unexpected },
    });
    this.#apply = apply;
    const findCheck = (): Check => check;
    const sampled = (): void => undefined;
    this.#sweep = createSweep({
      ...{ effects, looker, findCheck, apply, onFailed, isCovered: () => true, time, sampled },
    });
    const onContradiction = (): void => {
      expected.told += 1;
      looker.distrust(tool.name);
    };
    // Its renewals come with the time of the schedule.
    const real = globalThis.setInterval;
    const spy = vi.spyOn(globalThis, 'setInterval').mockImplementation((renew) => {
      this.#renewRuns = () => renew();
      return real(() => undefined, 86_400_000);
    });
    this.#reconciler = createReconciler({
      ...{ effects, looker, findCheck, now, time, onFailed, onContradiction, apply },
    });
    spy.mockRestore();
  }

  #createCheck(): Check {
    const { machine, expected, nextCheck } = this.#world;
    const { life } = this;
    // Its question and its answer are on their way for a while.
    const travel = (): Promise<void> => machine.ask(life, () => undefined);
    const look = async (limitMs: number) => {
      const mode = nextCheck();
      await travel();
      if (mode === 'hangs') await new Promise<void>((resolve) => machine.startTimer(life)(resolve, limitMs));
      if (mode === 'throws' || mode === 'hangs') throw new Error('no');
      const hasHappened = expected.ledger.length > 0 !== (mode === 'lie');
      await travel();
      if (mode === 'unclear') return { kind: 'unclear', retryAfterMs: null } as const;
      const end = createEnd('tool', hasHappened ? 'happened' : 'did_not_happen', { value: hasHappened || null });
      return { kind: 'found', end } as const;
    };
    const unclear = { found: { kind: 'unclear', retryAfterMs: null }, problem: 'no' } as const;
    return {
      timeoutMs: CHECK_MS,
      afterMs: 0,
      run: (_sought, limitMs) =>
        look(limitMs).then(
          (found) => ({ found, problem: null }),
          () => unclear,
        ),
    };
  }

  /** Holds everything that it holds for another while, as its timers do. */
  renew(): void {
    this.#renewRuns();
    for (const record of this.#records) void record.renew().catch(away);
  }

  /** Looks at the effect as a sweep does. */
  look(): void {
    void this.#sweep.look(this.#key).catch(away);
  }

  /** A person who has read the record settles it, or leaves it. */
  async decide(choose: () => EffectEnd['verdict'] | null): Promise<void> {
    const found = await this.effects.find(this.#key);
    const verdict = choose();
    if (found === null || verdict === null) return;
    const decided = await this.effects.settleByHand(this.#key, found.effect.fence, createEnd('person', verdict, {}));
    if (decided.kind === 'settled') await this.#apply(this.#key, decided.effect);
  }

  close(): void {
    this.#reconciler.close();
  }

  /** One request under the key, and what it is answered. */
  async request(): Promise<CallOutcome | 'later'> {
    const { expected, machine } = this.#world;
    const order = expected.nextOrder();
    const { faults } = this.life;
    const until = machine.now() + BATCH_MS;
    const answer = await this.#answer(until);
    // What was accepted is what a repeat gets, unless its own store or time fails it.
    if (answer !== 'later' && this.life.faults === faults && machine.now() < until)
      expected.expectAnswer(answer.kind, order);
    return answer;
  }

  async #answer(until: number): Promise<CallOutcome | 'later'> {
    requests += 1;
    const place = { recordKey: `t:k_${this.#world.name}`, requestKey: `t:r_${requests}` };
    const write = this.#createWrite(place);
    const opening = await this.keys.open({ ...place, body: 'body', calls: 1 });
    if (opening.kind === 'complete')
      return this.#restore(write, { state: 'committed', result: opening.results[0] ?? '' }, until);
    if (opening.kind !== 'held') return 'later';
    const { record } = opening;
    this.#records.add(record);
    const earlier = record.earlier.get(0);
    const told = earlier === undefined ? await this.#begin(write, record, until) : null;
    const outcome = told?.outcome ?? (await this.#restore(write, earlier ?? { state: 'started' }, until));
    const isKept = earlier?.state === 'committed';
    const kind = toKind(outcome, {});
    await record.commit(isKept ? [] : [{ index: 0, result: render(outcome), kind }]).catch(away);
    this.#records.delete(record);
    void told?.late?.then((late) => this.#watchLate(write, told, late, record));
    return outcome;
  }

  /** What an earlier try has left. */
  async #restore(write: Write, earlier: EarlierCall, until: number): Promise<CallOutcome> {
    const state = decideEarlier(CALL, earlier, () => true);
    if (state === null) throw new Error('A mark of a write is no reason to run it.');
    const outcome = state.kind === 'failure' ? state : state.outcome;
    return this.#settle(write, 'earlier', { outcome, late: null }, until);
  }

  async #settle(write: Write, run: UnknownRun['run'], { outcome, late }: Told, until: number): Promise<CallOutcome> {
    if (outcome.kind === 'success' || outcome.failure.outcome !== 'unknown') return outcome;
    const { machine } = this.#world;
    const clock = { now: machine.now, startTimer: machine.startTimer(this.life) };
    const cancellation = createCancellation(until - machine.now(), NOBODY, clock);
    const found = await this.#reconciler.settle(write, { outcome, run, late, ranMs: 0, cancellation });
    cancellation.close();
    return found;
  }

  async #begin(write: Write, record: LeasedRecord, until: number): Promise<Told & { readonly run?: Run }> {
    const { machine, expected } = this.#world;
    const attempt: Attempt = { begun: null };
    this.#cause = { begins: attempt, ends: null };
    const beginning = this.#reconciler.begin(write, record.start(0).catch(away));
    this.#cause = { begins: null, ends: null };
    const state = await beginning;
    if (state !== 'held') {
      const code = state === 'away' ? 'store_unavailable' : 'outcome_unknown';
      const refused = failed(toFailure(code, 'no', tool));
      this.#reconciler.ended(write, refused);
      return { outcome: await this.#settle(write, 'other', { outcome: refused, late: null }, until), late: null };
    }
    if (attempt.begun === null) throw new Error('No run has begun in the record.');
    const run = expected.begin(attempt.begun);
    // Its batch is over: it does not begin after all.
    if (machine.now() >= until) {
      const outcome = failed(toFailure('cancelled', 'no', tool, { executed: 'no', outcome: 'retry' }));
      expected.end(run, 'no');
      this.#end(write, run, outcome);
      return { outcome, late: null };
    }
    const told = await this.#run(run);
    if (run.executed !== null && told.late === null) this.#end(write, run, told.outcome);
    const outcome = await this.#settle(write, 'own', told, until);
    return { outcome, late: told.late, run };
  }

  #run(run: Run): Promise<Told> {
    const { expected } = this.#world;
    return new Promise((resolve) => {
      const handler: Handler = {
        run,
        process: this,
        end: (how) => {
          if (how !== 'timeout') {
            expected.end(run, EXECUTED[how]);
            resolve({ outcome: OUTCOMES[how], late: null });
            return;
          }
          run.state = 'late';
          const late = new Promise<CallOutcome | null>((settle) => {
            handler.end = (after) => {
              expected.end(run, EXECUTED[after]);
              settle(after === 'never_began' ? null : OUTCOMES[after]);
            };
          });
          resolve({ outcome: OUTCOMES.timeout, late });
        },
      };
      this.handlers.push(handler);
    });
  }

  #end(write: Write, run: Run, outcome: CallOutcome): void {
    this.#cause = { begins: null, ends: run };
    this.#reconciler.ended(write, outcome);
    this.#cause = { begins: null, ends: null };
    this.#world.expected.hold(() => expect(run.isEndAsked).toBe(true));
  }

  #watchLate(write: Write, told: Told & { readonly run?: Run }, late: CallOutcome | null, record: LeasedRecord): void {
    if (late === null || told.run === undefined) return;
    this.#end(write, told.run, late);
    const { outcome } = told;
    const saysMore = late.kind === 'success' || (outcome.kind === 'failure' && outcome.failure.outcome === 'unknown');
    if (saysMore) void record.amend(0, render(late)).catch(away);
  }

  #createWrite(place: { readonly recordKey: string; readonly requestKey: string }): Write {
    const { name, timeoutMs } = this.#world;
    return {
      ...{
        effectId: `e_${name}`,
        tool,
        input: {},
        tenant: 't',
        caller: null,
        holder: 't',
        requestId: 'r',
        batchId: 'r',
      },
      ...{ sessionKey: null, index: 0, id: null, name: 'pay', places: [{ ...place, place: 0 }], handle: null },
      ...{ ticket: null, grant: null, notify: null, timeoutMs },
    };
  }
}

const unexpected = (): never => {
  throw new Error('There is no session and no webhook endpoint.');
};

const render = (outcome: CallOutcome): string =>
  renderOutcome(outcome, { index: 0, id: null, name: 'pay', durationMs: 0 }, [], NO_NOTES).json;
