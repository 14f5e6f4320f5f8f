import type {
  Budget,
  CallVerdict,
  RequestedTool,
  Round,
  RoundReport,
  SessionRecord,
  SettledCall,
} from '#src/executor/session-store.ts';
import { type PlainAdmission, PlainBudgetModel, type PlainPermit } from './plain-budget-model.ts';
import { PlainLimitsModel } from './plain-limits-model.ts';
import { PlainLoopModel } from './plain-loop-model.ts';
import type { PlainOutcome } from './plain-tool-model.ts';

export type PlainSettings = {
  readonly sessionRetries: number;
  readonly cooldownMs: number;
  readonly maxCalls: number;
  readonly maxRounds: number;
  readonly journal: number;
};

/** A batch that was let in, for comparing it with what a store says, and for settling it. */
export type PlainSessionAdmission = {
  readonly round: Round;
  readonly permits: ReadonlyMap<string, PlainPermit>;
  readonly verdicts: readonly CallVerdict[];
  /** null: one round too many, which has no number. */
  readonly step: number | null;
  readonly budgets: PlainAdmission;
  readonly life: Life;
};

/** One life of the session. */
type Life = { readonly limits: PlainLimitsModel; readonly loops: PlainLoopModel; journal: readonly string[] };

const RUN: CallVerdict = { kind: 'run', repeats: null };

/**
 * All that a session remembers, in the plainest words: budgets, the loop guard, limits and the journal. Written from the
 * rules and not from the stores, which are held against it.
 */
export class PlainSessionModel {
  private readonly settings: PlainSettings;
  private readonly retryBudgets: PlainBudgetModel;
  private life: Life;

  constructor(settings: PlainSettings) {
    this.settings = settings;
    this.retryBudgets = new PlainBudgetModel(settings);
    this.life = this.createLife();
  }

  pass(ms: number): void {
    this.retryBudgets.now += ms;
  }

  /** The session is expired, evicted or ended: another life of it begins. */
  forget(): void {
    this.retryBudgets.forget();
    this.life = this.createLife();
  }

  reset(tool: string | null): void {
    this.retryBudgets.reset(tool);
    this.life.loops.reset(tool);
  }

  admit(round: Round): PlainSessionAdmission {
    const { life } = this;
    const step = life.limits.enter(round.roundId, round.leaseMs, this.retryBudgets.now);
    if (step === null) return this.refuse(round);
    const alone = this.judgeAlone(round, step);
    const has = (tool: string, said: readonly CallVerdict[]): boolean =>
      round.calls.every((call) => call.tool !== tool) ||
      round.calls.some((call, place) => call.tool === tool && said[place]?.kind === 'run');
    const budgets = this.retryBudgets.admit(
      { name: round.roundId, leaseMs: round.leaseMs, tools: round.tools },
      {
        mayWork: (name, denied) => {
          const until = round.tools.findIndex((tool) => tool.name === name);
          const decided = new Set(round.tools.slice(0, until + 1).map((tool) => tool.name));
          return has(
            name,
            this.limitSession(round, alone, (tool) => decided.has(tool) && !denied.has(tool)),
          );
        },
        hasWork: (name, denied) =>
          has(
            name,
            this.limitSession(round, alone, (tool) => !denied.has(tool)),
          ),
      },
    );
    const isDenied = (tool: string): boolean => budgets.permits.get(tool)?.decision === 'denied';
    const final = this.limitSession(round, alone, (tool) => !isDenied(tool));
    const verdicts = round.calls.map(({ tool }, place) => (isDenied(tool) ? RUN : (final[place] ?? RUN)));
    const admission = { round, permits: budgets.permits, verdicts, step, budgets, life };
    for (const call of this.letIn(admission)) if (call.counts) life.limits.count(findTool(round, call.tool), 1);
    return admission;
  }

  /** What is left of every tool of the round; null where no budget has changed and nobody need be told. */
  settle(admission: PlainSessionAdmission, report: RoundReport): ReadonlyMap<string, Budget> | null {
    const { life, round } = admission;
    const outcomes = new Map(report.outcomes.map((one) => [one.name, toPlainOutcome(one)] as const));
    const error = report.outcomes.find(({ error: text }) => text !== '')?.error ?? '';
    const budgets = this.retryBudgets.settle(admission.budgets, outcomes, error);
    if (life !== this.life) return budgets;
    if (admission.step !== null) life.loops.settle(round.tools, report.calls, admission.step);
    const ran = new Set(this.letIn(admission));
    report.calls.forEach((call: SettledCall, place) => {
      const asked = round.calls[place];
      if (asked?.counts === true && ran.has(asked) && !call.executed) life.limits.count(findTool(round, call.tool), -1);
    });
    const { journal } = this.settings;
    for (const line of journal === 0 ? [] : (report.journal?.render() ?? []).slice(-journal))
      this.write(line.tool, line.json, round);
    return budgets;
  }

  /** A handler that went on after its answer has ended. */
  addLate({ life }: PlainSessionAdmission, json: string): void {
    if (life === this.life) this.append(json);
  }

  /** What is left now for the tools of a round. */
  budgets(round: Round): ReadonlyMap<string, Budget> {
    return new Map(round.tools.map(({ name, retries }) => [name, this.retryBudgets.budget(name, retries)]));
  }

  /** As a store reads it, for these tools; those of which nothing is known are left out. */
  read(tools: readonly RequestedTool[]): Omit<SessionRecord, 'mode'> {
    const { limits, loops, journal } = this.life;
    return {
      rounds: limits.rounds,
      calls: limits.calls,
      spent: this.retryBudgets.spent(),
      tools: tools.map(({ name }) => ({
        ...this.retryBudgets.record(name),
        calls: limits.callsOfTool(name),
        streak: loops.longest(name),
      })),
      journal,
    };
  }

  private createLife(): Life {
    return { limits: new PlainLimitsModel(this.settings), loops: new PlainLoopModel(), journal: [] };
  }

  // A round too many is none: it leaves everything as it is.
  private refuse(round: Round): PlainSessionAdmission {
    const budgets = this.retryBudgets.refuse({ name: round.roundId, leaseMs: round.leaseMs, tools: round.tools });
    const verdicts = round.calls.map(() => this.life.limits.tooManyRounds());
    return { round, permits: budgets.permits, verdicts, step: null, budgets, life: this.life };
  }

  // What the round's number, the loop guard and the tool's own limit say of each call.
  private judgeAlone(round: Round, step: number): readonly CallVerdict[] {
    const { limits, loops } = this.life;
    const taken = new Map<string, number>();
    return round.calls.map((call): CallVerdict => {
      const tool = findTool(round, call.tool);
      const verdict = loops.judge(tool, call.callHash, step);
      if (verdict.kind === 'loop' || !call.counts) return verdict;
      const before = taken.get(tool.name) ?? 0;
      const refusal = limits.refuseOfTool(tool, before);
      if (refusal === null) taken.set(tool.name, before + 1);
      return refusal ?? verdict;
    });
  }

  // The session's limit is for those that are left: the first of them in the order of the batch run.
  private limitSession(
    round: Round,
    verdicts: readonly CallVerdict[],
    isCandidate: (tool: string) => boolean,
  ): readonly CallVerdict[] {
    let taken = 0;
    return verdicts.map((verdict, place) => {
      const call = round.calls[place];
      if (verdict.kind !== 'run' || call?.counts !== true || !isCandidate(call.tool)) return verdict;
      const refusal = this.life.limits.refuseOfSession(taken);
      if (refusal === null) taken += 1;
      return refusal ?? verdict;
    });
  }

  private letIn({ round, permits, verdicts }: PlainSessionAdmission): readonly Round['calls'][number][] {
    return round.calls.filter(
      ({ tool }, place) => permits.get(tool)?.decision !== 'denied' && verdicts[place]?.kind === 'run',
    );
  }

  private write(tool: string | null, json: string, round: Round): void {
    const asked = round.tools.find(({ name }) => name === tool);
    const left = asked === undefined ? null : this.retryBudgets.budget(asked.name, asked.retries).remaining;
    this.append(`${json.slice(0, -1)},"retries_left":${left}}`);
  }

  private append(line: string): void {
    const { journal } = this.settings;
    // Room for the late results of its calls, so that these push none of them out.
    if (journal > 0) this.life.journal = [...this.life.journal, line].slice(-journal - 32);
  }
}

const findTool = (round: Round, tool: string): RequestedTool => {
  const found = round.tools.find(({ name }) => name === tool);
  if (found === undefined) throw new Error(`The round has a call of ${tool} and not the tool.`);
  return found;
};

const toPlainOutcome = ({ failed, succeeded, interrupted }: RoundReport['outcomes'][number]): PlainOutcome => {
  if (failed && succeeded) return 'mixed';
  if (failed) return 'failed';
  if (succeeded) return 'succeeded';
  return interrupted ? 'interrupted' : 'neither';
};
