import type { Admission, AskedTool, Permit, RoundReport, ToolOutcome } from '../executor/session-store.ts';
import { readTicket } from './late-rounds.ts';
import { addLateOutcome } from './rules/retry-budgets.ts';
import { type SessionState, withdraw } from './rules/session-state.ts';

/** How a round that was counted here went for one tool. */
type LateOutcome = Pick<ToolOutcome, 'name' | 'failed' | 'error'> & {
  /** The tool's when the round began. */
  readonly epoch: number;
};

type Counts = Pick<SessionState, 'rounds' | 'calls' | 'callsOf'>;

/** What this process has counted of a session while its store was away. */
export class OutageRounds {
  /** As the session was when it was seen last, or when what was counted since went to its store. */
  #before: Counts;
  #outcomes: readonly LateOutcome[] = [];
  /** Batches that the store may have let in without an answer: what it then holds for them, they settle here. */
  readonly #unanswered = new Set<string>();
  readonly #failures = new Map<string, number>();

  constructor(seen: Counts) {
    this.#before = toCounts(seen);
  }

  addUnanswered(batchId: string): void {
    this.#unanswered.add(batchId);
  }

  /** How many outcomes there are that the store has not. */
  get size(): number {
    return this.#outcomes.length;
  }

  /** Notes what came of a round. Of a tool at most as many failures as a session without retries left would have had. */
  add(admission: Admission, tools: readonly AskedTool[], { outcomes }: RoundReport): void {
    const retriesOf = new Map(tools.map(({ name, retries }) => [name, retries]));
    for (const { name, failed, succeeded, error } of outcomes) {
      if (!ran(admission.permits.get(name)) || failed === succeeded) continue;
      if (failed && !this.#countFailure(name, (retriesOf.get(name) ?? 0) + 1)) continue;
      const { epoch } = readTicket(admission.ticketOf(name));
      this.#outcomes = [...this.#outcomes, { name, failed, error, epoch }];
    }
  }

  #countFailure(name: string, most: number): boolean {
    const failures = (this.#failures.get(name) ?? 0) + 1;
    this.#failures.set(name, failures);
    return failures <= most;
  }

  /**
   * Adds to the session in its store what was counted here: the first `size` outcomes in their order. `here`: the session as it
   * is here now.
   */
  settleIn(session: SessionState, { here, size }: { readonly here: Counts; readonly size: number }, now: number): void {
    for (const batchId of this.#unanswered) withdraw(session, batchId);
    session.rounds += Math.max(0, here.rounds - this.#before.rounds);
    session.calls += Math.max(0, here.calls - this.#before.calls);
    for (const [name, calls] of here.callsOf) {
      const added = Math.max(0, calls - (this.#before.callsOf.get(name) ?? 0));
      session.callsOf.set(name, (session.callsOf.get(name) ?? 0) + added);
    }
    for (const outcome of this.#outcomes.slice(0, size)) addLateOutcome(session, outcome, now);
  }

  /** Forgets what the store has now. */
  forget({ here, size }: { readonly here: Counts; readonly size: number }): void {
    this.#before = toCounts(here);
    this.#outcomes = this.#outcomes.slice(size);
  }
}

const toCounts = ({ rounds, calls, callsOf }: Counts): Counts => ({ rounds, calls, callsOf: new Map(callsOf) });

const ran = (permit: Permit | undefined): boolean => permit?.decision === 'free' || permit?.decision === 'retry';
