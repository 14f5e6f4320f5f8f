import { type Attempt, type PlainOutcome, PlainTool } from './plain-tool-model.ts';

export type PlainBudget = {
  readonly failures: number;
  readonly limit: number;
  readonly used: number;
  readonly remaining: number;
  readonly limitedBy: 'tool' | 'session';
  readonly lastError: string;
};

type Denial = 'tool' | 'running' | 'session';

export type PlainPermit =
  | { readonly decision: 'free' | 'retry'; readonly budget: PlainBudget }
  | { readonly decision: 'denied'; readonly denial: Denial; readonly budget: PlainBudget };

export type PlainRound = {
  readonly name: string | null;
  readonly leaseMs: number;
  readonly tools: readonly { readonly name: string; readonly retries: number }[];
};

type LetIn =
  | { readonly decision: 'free' | 'retry'; readonly attempt: Attempt | null; readonly epoch: number }
  | { readonly decision: 'denied'; readonly denial: Denial };

/** A batch that was let in, for settling it. */
export type PlainAdmission = {
  readonly permits: ReadonlyMap<string, PlainPermit>;
  readonly round: PlainRound;
  readonly letIn: ReadonlyMap<string, LetIn>;
  readonly life: Life;
};

/** One life of the session. */
type Life = {
  readonly tools: Map<string, PlainTool>;
  lost: number;
  /** The last round, where it was named, named only known tools and found failures of unknown names. */
  knownRound: string | null;
  /** Until when the named rounds that named an unknown tool go on. */
  readonly mentions: Map<string, number>;
};

const createLife = (): Life => ({ tools: new Map(), lost: 0, knownRound: null, mentions: new Map() });

const UNKNOWN = '_unknown';

/**
 * The retry budgets of one session in the plainest words: lists of rounds, every number counted anew from them. It was
 * written from the rules of the retry budget and not from the stores, which are held against it.
 *
 * Where the rules are silent it decides:
 * - A named round takes further batches for one lease from its start; after that the name begins another round.
 * - It may settle in several steps. What its verdict did is taken back once it turns out mixed: a failure and its
 *   retry, or the forgiveness of its success. The epoch stays, and nothing that was forgiven once more comes back.
 * - It holds its reservation until all its batches have settled. A batch that comes when the reservation is back must
 *   find a retry free, unless no failure stands any more.
 * - A first attempt's success forgives nothing: nothing stood when it began.
 * - A batch that settles after its lease is a round of its own. If it was a retry and failed, the retry that was lost
 *   is used instead.
 * - Cooling concerns what is exhausted, in the tool or the session; while a retry of the tool runs its end is awaited.
 * - It remembers every named round until its lease is over; the stores forget all but the latest sixteen, which the random
 *   sessions never reach.
 * - A named round is known to name only known tools when another round begins. A refused one has named its tools, too.
 */
export class PlainBudgetModel {
  now = 1_000_000;
  private readonly settings: { readonly sessionRetries: number; readonly cooldownMs: number };
  private life = createLife();

  constructor(settings: { readonly sessionRetries: number; readonly cooldownMs: number }) {
    this.settings = settings;
  }

  /** The session is expired, or evicted: another life of it begins. */
  forget(): void {
    this.life = createLife();
  }

  admit(round: PlainRound): PlainAdmission {
    this.endLeases();
    this.clearUnknownNames(round);
    const letIn = round.tools.map(({ name, retries }) => [name, this.letIn(name, retries, round)] as const);
    const decided = new Map(letIn);
    const permits = round.tools.map(({ name, retries }): readonly [string, PlainPermit] => {
      const budget = this.budget(name, retries);
      const one = decided.get(name);
      if (one === undefined || one.decision === 'denied')
        return [name, { decision: 'denied', denial: one?.denial ?? 'tool', budget }];
      return [name, { decision: one.decision, budget }];
    });
    return { permits: new Map(permits), round, letIn: decided, life: this.life };
  }

  /** What is left of every tool of the round; null where settling changes nothing and nobody need be asked. */
  settle(
    admission: PlainAdmission,
    outcomes: ReadonlyMap<string, PlainOutcome>,
    error: string,
  ): ReadonlyMap<string, PlainBudget> | null {
    const letIn = [...admission.letIn];
    if (letIn.every(([name, one]) => changesNothing(one, outcomes.get(name)))) return null;
    this.endLeases();
    if (admission.life === this.life)
      for (const [name, one] of letIn) this.settleTool(name, one, outcomes.get(name) ?? 'interrupted', error);
    return new Map(admission.round.tools.map(({ name, retries }) => [name, this.budget(name, retries)]));
  }

  private tool(name: string): PlainTool {
    const tool = this.life.tools.get(name) ?? new PlainTool();
    this.life.tools.set(name, tool);
    return tool;
  }

  private leftInSession(): number {
    const held = [...this.life.tools.values()].reduce((sum, tool) => sum + tool.held(), 0);
    return Math.max(0, this.settings.sessionRetries - held - this.life.lost);
  }

  private budget(name: string, limit: number): PlainBudget {
    const tool = this.tool(name);
    const leftInTool = Math.max(0, limit - tool.held());
    const leftInSession = this.leftInSession();
    return {
      failures: tool.failures(),
      limit,
      used: tool.used(),
      remaining: Math.min(leftInTool, leftInSession),
      limitedBy: leftInSession < leftInTool ? 'session' : 'tool',
      lastError: tool.failures() === 0 ? '' : tool.lastError,
    };
  }

  private endLeases(): void {
    for (const tool of this.life.tools.values()) this.life.lost += tool.endLeases(this.now);
  }

  private clearUnknownNames(round: PlainRound): void {
    if (round.tools.length === 0) return;
    const unknown = this.tool(UNKNOWN);
    const before = this.life.knownRound;
    const isKnown = round.tools.every(({ name }) => name !== UNKNOWN);
    if (!isKnown && round.name !== null && !this.hasNamedUnknown(round.name))
      this.life.mentions.set(round.name, this.now + round.leaseMs);
    const isKnownSoFar = isKnown && unknown.failures() > 0 && !this.hasNamedUnknown(round.name);
    if ((before !== null && before !== round.name) || (isKnown && round.name === null)) unknown.makeFresh();
    this.life.knownRound = isKnownSoFar ? round.name : null;
  }

  private hasNamedUnknown(round: string | null): boolean {
    return round !== null && (this.life.mentions.get(round) ?? 0) > this.now;
  }

  private letIn(name: string, retries: number, round: PlainRound): LetIn {
    const tool = this.tool(name);
    const room = this.room(tool, retries);
    const own = tool.findAttempt(round.name, this.now);
    if (own !== undefined && tool.mayGoOn(own, room)) {
      own.unsettled += 1;
      own.lease = Math.max(own.lease, this.now + round.leaseMs);
      return { decision: own.retry ? 'retry' : 'free', attempt: own, epoch: tool.epoch };
    }
    if (tool.failures() === 0 || room === 'room') return this.begin(name, round);
    const denial = toDenial(tool, retries);
    if (denial !== 'running' && this.hasCooled(tool)) {
      tool.makeFresh();
      tool.drop(own);
      return this.begin(name, round);
    }
    return { decision: 'denied', denial };
  }

  private room(tool: PlainTool, retries: number): 'room' | 'no room' {
    return tool.held() < retries && this.leftInSession() > 0 ? 'room' : 'no room';
  }

  private begin(name: string, round: PlainRound): LetIn {
    const tool = this.tool(name);
    const decision = tool.failures() > 0 ? 'retry' : 'free';
    const isRemembered = decision === 'retry' || round.name !== null;
    return {
      decision,
      attempt: isRemembered ? tool.begin(round.name, this.now + round.leaseMs) : null,
      epoch: tool.epoch,
    };
  }

  private hasCooled(tool: PlainTool): boolean {
    const { cooldownMs } = this.settings;
    return cooldownMs > 0 && this.now - tool.lastFailedAt >= cooldownMs;
  }

  private settleTool(name: string, letIn: LetIn, outcome: PlainOutcome, error: string): void {
    if (letIn.decision === 'denied' || outcome === 'interrupted') return;
    const tool = this.tool(name);
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
  if (letIn.decision === 'denied' || outcome === undefined || outcome === 'interrupted') return true;
  return letIn.attempt === null && outcome !== 'failed';
};
