import type { Budget, Denial, Permit, ToolRecord } from '#src/executor/session-store.ts';
import { PlainBudgetLife, type PlainRound } from './plain-budget-life.ts';
import type { Attempt, PlainOutcome, PlainTool } from './plain-tool-model.ts';

type IsLeftToRun = (tool: string, denied: ReadonlyMap<string, Denial>) => boolean;

/** Whether limits and loop guard leave a tool anything to run: as far as is known yet, and when all is decided. */
export type Guard = { readonly mayWork: IsLeftToRun; readonly hasWork: IsLeftToRun };

export type PlainPermit = Exclude<Permit, { readonly decision: 'unavailable' }>;

type LetIn =
  | { readonly decision: 'free' | 'retry'; readonly attempt: Attempt | null; readonly epoch: number }
  | { readonly decision: 'idle' }
  | { readonly decision: 'denied'; readonly denial: Denial };

/** A batch that was let in, for settling it. */
export type PlainAdmission = {
  readonly permits: ReadonlyMap<string, PlainPermit>;
  readonly round: PlainRound;
  readonly letIn: ReadonlyMap<string, LetIn>;
  readonly life: PlainBudgetLife;
};

/**
 * The retry budgets of one session in the plainest words: lists of rounds, every number counted anew from them. It was
 * written from the rules of the retry budget and not from the stores, which are held against it.
 *
 * Where the rules are silent it decides:
 * - A named round takes further batches for one lease from its start; after that the name begins another round.
 * - It may settle in several steps. Once it turns out mixed it gets back its failure and its retry. The epoch stays, and
 *   what its success has forgiven stays forgiven.
 * - It holds its reservation until all its batches have settled. A batch that comes when the reservation is back must
 *   find a retry free, unless no failure stands any more.
 * - A first attempt's success forgives nothing: nothing stood when it began.
 * - A batch that settles after its lease is a round of its own. If it was a retry and failed, the retry that was lost
 *   is used instead.
 * - A batch whose calls are all refused by limits or the loop guard takes no part in its round.
 * - A reset makes fresh as cooling does. Retries that ran then go on, and are used if they fail; a lease that was over
 *   by then has lost its retry already.
 * - Cooling concerns what is exhausted, in the tool or the session; while a retry of the tool runs its end is awaited.
 * - It remembers every named round until its lease is over; the stores forget all but the latest sixteen, which the random
 *   sessions never reach.
 * - A named round is known to name only known tools when another round begins. A refused one has named its tools, too.
 */
export class PlainBudgetModel {
  now = 1_000_000;
  private readonly settings: { readonly sessionRetries: number; readonly cooldownMs: number };
  private life: PlainBudgetLife;

  constructor(settings: { readonly sessionRetries: number; readonly cooldownMs: number }) {
    this.settings = settings;
    this.life = new PlainBudgetLife(settings.sessionRetries);
  }

  /** The session is expired, or evicted: another life of it begins. */
  forget(): void {
    this.life = new PlainBudgetLife(this.settings.sessionRetries);
  }

  /**
   * First it is decided, tool by tool, who may run: of those that need a retry and for all that is known have work, each
   * holds one against those after it. Then those that have work in the end begin.
   */
  admit(round: PlainRound, guard: Guard = { mayWork: () => true, hasWork: () => true }): PlainAdmission {
    this.current().clearUnknownNames(round, this.now);
    const denials = new Map<string, Denial>();
    let holding = 0;
    for (const { name, retries } of round.tools) {
      const denial = this.deny(name, retries, round, holding);
      if (denial !== null) denials.set(name, denial);
      else if (this.needsRetry(name, round) && guard.mayWork(name, denials)) holding += 1;
    }
    const letIn = new Map(
      round.tools.map(({ name }): readonly [string, LetIn] => {
        const denial = denials.get(name);
        if (denial !== undefined) return [name, { decision: 'denied', denial }];
        return [name, this.letIn(name, round, guard.hasWork(name, denials))];
      }),
    );
    const permits = round.tools.map(({ name, retries }) => this.toPermit(name, retries, letIn));
    return { permits: new Map(permits), round, letIn, life: this.life };
  }

  /** What a round is told that is none: it may not run, and not for its failures. */
  refuse(round: PlainRound): PlainAdmission {
    const letIn = new Map(round.tools.map(({ name }) => [name, this.letIn(name, round, false)] as const));
    const permits = round.tools.map(({ name, retries }) => this.toPermit(name, retries, letIn));
    return { permits: new Map(permits), round, letIn, life: this.life };
  }

  /** What is left of every tool of the round; null where settling changes nothing and nobody need be asked. */
  settle(
    admission: PlainAdmission,
    outcomes: ReadonlyMap<string, PlainOutcome>,
    error: string,
  ): ReadonlyMap<string, Budget> | null {
    const letIn = [...admission.letIn];
    if (letIn.every(([name, one]) => changesNothing(one, outcomes.get(name)))) return null;
    if (admission.life === this.current())
      for (const [name, one] of letIn) this.settleTool(name, one, outcomes.get(name) ?? 'interrupted', error);
    return new Map(admission.round.tools.map(({ name, retries }) => [name, this.budget(name, retries)]));
  }

  /** One tool is made fresh, or all and the retries that were lost with crashes. What runs goes on. */
  reset(name: string | null): void {
    this.current().reset(name);
  }

  /** What is left for a tool now, whoever asks. */
  budget(name: string, limit: number): Budget {
    return this.current().budget(name, limit);
  }

  spent(): number {
    return this.current().spent();
  }

  record(name: string): Omit<ToolRecord, 'calls' | 'streak'> {
    return this.current().record(name, this.now);
  }

  // What leases have ended by now has come to its end.
  private current(): PlainBudgetLife {
    this.life.endLeases(this.now);
    return this.life;
  }

  private toPermit(name: string, retries: number, letIn: ReadonlyMap<string, LetIn>): readonly [string, PlainPermit] {
    const one = letIn.get(name);
    if (one === undefined) throw new Error('Nothing was decided.');
    const budget = this.budget(name, retries);
    if (one.decision === 'denied') return [name, { decision: 'denied', denial: one.denial, budget }];
    return [name, { decision: one.decision, budget }];
  }

  // Null where it may run. What has cooled down is fresh from here on.
  private deny(name: string, retries: number, round: PlainRound, holding: number): Denial | null {
    const tool = this.life.tool(name);
    const room = tool.held() < retries && this.life.left() > holding ? 'room' : 'no room';
    const own = tool.findAttempt(round.name, this.now);
    if (tool.failures() === 0 || room === 'room') return null;
    if (own !== undefined && tool.mayGoOn(own)) return null;
    const denial = toDenial(tool, retries);
    if (denial === 'running' || !this.hasCooled(tool)) return denial;
    tool.makeFresh();
    tool.drop(own);
    return null;
  }

  private needsRetry(name: string, round: PlainRound): boolean {
    const tool = this.life.tool(name);
    const own = tool.findAttempt(round.name, this.now);
    return tool.failures() > 0 && (own === undefined || !tool.mayGoOn(own));
  }

  private letIn(name: string, round: PlainRound, hasWork: boolean): LetIn {
    const tool = this.life.tool(name);
    const isFailing = tool.failures() > 0;
    if (!hasWork) return isFailing ? { decision: 'idle' } : { decision: 'free', attempt: null, epoch: tool.epoch };
    const lease = this.now + round.leaseMs;
    const own = tool.findAttempt(round.name, this.now);
    if (own !== undefined) {
      tool.goOn(own, lease);
      return { decision: own.retry ? 'retry' : 'free', attempt: own, epoch: tool.epoch };
    }
    const isRemembered = isFailing || round.name !== null;
    const attempt = isRemembered ? tool.begin(round.name, lease) : null;
    return { decision: isFailing ? 'retry' : 'free', attempt, epoch: tool.epoch };
  }

  private hasCooled(tool: PlainTool): boolean {
    const { cooldownMs } = this.settings;
    return cooldownMs > 0 && this.now - tool.lastFailedAt >= cooldownMs;
  }

  private settleTool(name: string, letIn: LetIn, outcome: PlainOutcome, error: string): void {
    if (letIn.decision === 'denied' || letIn.decision === 'idle' || outcome === 'interrupted') return;
    const tool = this.life.tool(name);
    if (tool.has(letIn.attempt)) {
      tool.settle(letIn.attempt, outcome, error, this.now);
      return;
    }
    const retry = letIn.decision === 'retry';
    if (outcome === 'failed') {
      tool.fail(null, letIn.decision, error, this.now);
      if (retry) this.life.lost = Math.max(0, this.life.lost - 1);
    }
    if (outcome === 'succeeded' && retry && tool.epoch === letIn.epoch) tool.makeFresh();
  }
}

const toDenial = (tool: PlainTool, retries: number): Denial => {
  if (tool.used() >= retries) return 'tool';
  return tool.running() > 0 ? 'running' : 'session';
};

// A first attempt without a name can only fail; whoever is cut off while running is left to the lease.
const changesNothing = (letIn: LetIn, outcome: PlainOutcome | undefined): boolean => {
  if (letIn.decision === 'denied' || letIn.decision === 'idle') return true;
  if (outcome === undefined || outcome === 'interrupted') return true;
  return letIn.attempt === null && outcome !== 'failed';
};
