import { randomUUID } from 'node:crypto';
import type {
  Admission,
  RequestedTool,
  Round,
  RoundForecast,
  RoundReport,
  ToolOutcome,
} from '../executor/session-store.ts';
import type { Records } from '../store/record-store.ts';
import { StoreAwayError } from '../store/store-availability.ts';
import type { RecordSessionStore } from './record-session-store.ts';
import { readTicket } from './round-ticket.ts';
import { dropReservations } from './rules/reservations.ts';
import { type AdmittedTool, addLateOutcome } from './rules/retry-budgets.ts';
import { createSessionState, type SessionState } from './rules/session-state.ts';
import type { StoredSession } from './session-kind.ts';

// Sessions that are settled at once when the store is back.
const AT_ONCE = 32;

// Of further sessions the first are forgotten, with what was counted of them.
const MAX_SESSIONS = 10_000;

/**
 * Sessions that are counted in this process while their store is away.
 *
 * | a session is | a round of it                                | becomes                                                            |
 * |--------------|----------------------------------------------|--------------------------------------------------------------------|
 * | in its store | does not come here                           | here: the first round while it is away, as this process saw it last |
 * | here         | is counted here, and noted where it settles  | settling: the store is back                                        |
 * | settling     | waits for it, and goes to the store          | in its store; here: the store failed again                         |
 */
export class OutageSessions {
  readonly #shared: Records<StoredSession>;
  readonly #local: RecordSessionStore;
  readonly #here = new Map<string, OutageRounds>();
  readonly #settling = new Map<string, Promise<boolean>>();

  /** `shared`: sessions in their store. `local`: sessions in this process. */
  constructor({ shared, local }: { readonly shared: Records<StoredSession>; readonly local: RecordSessionStore }) {
    this.#shared = shared;
    this.#local = local;
  }

  has(sessionKey: string): boolean {
    return this.#here.has(sessionKey);
  }

  /** What would be said of a round while the store is away: nothing is counted, and the session stays where it is. */
  forecast(round: Round): RoundForecast | Promise<RoundForecast> {
    const { sessionKey } = round;
    if (this.#here.has(sessionKey)) return this.#local.forecast(round);
    return this.#local.forecastFrom(this.#shared.seen?.(sessionKey) ?? null, round);
  }

  /** `failed`: why the store did not let the round in; null: it was not asked. */
  async admit(round: Round, failed: unknown, onSettled: (sessionKey: string) => void): Promise<Admission> {
    const { sessionKey, batchId } = round;
    const isDecided = failed !== null && !(failed instanceof StoreAwayError);
    if (!this.#here.has(sessionKey)) this.#begin(round, isDecided);
    // What was decided on this very batch got no answer: it is decided here, again.
    if (isDecided) await this.#local.records.update(sessionKey, ({ session }) => dropReservations(session, batchId));
    const admission = await this.#local.admit(round);
    return {
      ...{ mode: admission.mode, scope: admission.scope, step: admission.step },
      ...{ permits: admission.permits, verdicts: admission.verdicts },
      ticketOf: (tool) => admission.ticketOf(tool),
      addLate: (json) => admission.addLate(json),
      settle: async (report) => {
        // It may have begun in an outage that is over.
        const rounds = this.#roundsOf(sessionKey, createSessionState(''));
        rounds.add(admission, round.tools, report);
        if (isDecided) rounds.unanswered.add(batchId);
        const budgets = await admission.settle(report);
        onSettled(sessionKey);
        return budgets;
      },
    };
  }

  /** Whether the store has what was counted here of the session. */
  async settle(sessionKey: string): Promise<boolean> {
    // What is on its way may have begun before the last round settled.
    for (let settling = this.#settling.get(sessionKey); settling !== undefined; )
      settling = (await settling) ? this.#settling.get(sessionKey) : undefined;
    const rounds = this.#here.get(sessionKey);
    if (rounds === undefined) return true;
    const settling = this.#settle(sessionKey, rounds).finally(() => this.#settling.delete(sessionKey));
    this.#settling.set(sessionKey, settling);
    return settling;
  }

  /** Gives the store what was counted here, until it fails again. */
  async settleAll(): Promise<void> {
    const keys = [...this.#here.keys()];
    for (let at = 0; at < keys.length; at += AT_ONCE) {
      const settled = await Promise.all(keys.slice(at, at + AT_ONCE).map((key) => this.settle(key)));
      if (settled.includes(false)) return;
    }
  }

  #roundsOf(sessionKey: string, seen: SessionState): OutageRounds {
    const rounds = this.#here.get(sessionKey) ?? new OutageRounds(seen);
    this.#here.set(sessionKey, rounds);
    const [first] = this.#here.keys();
    if (this.#here.size > MAX_SESSIONS && first !== undefined) this.#here.delete(first);
    return rounds;
  }

  // Without a wait: of batches that come at once one begins the session, and the others go on in it.
  #begin({ sessionKey, batchId, roundId }: Round, isDecided: boolean): void {
    const seen = this.#shared.seen?.(sessionKey)?.session ?? createSessionState(batchId);
    if (isDecided && roundId === null) seen.rounds = Math.max(0, seen.rounds - 1);
    this.#roundsOf(sessionKey, seen);
    // In memory, which answers at once.
    void this.#local.records.update(sessionKey, (stored) => {
      stored.session = seen;
      stored.bytes = 0;
    });
  }

  async #settle(sessionKey: string, rounds: OutageRounds): Promise<boolean> {
    // What settles here meanwhile is for the next time.
    const size = rounds.outcomes.length;
    const found = await this.#local.records.read(sessionKey, ({ session }) =>
      session === null ? null : toShared(session),
    );
    const here = found ?? createSessionState(randomUUID());
    try {
      await this.#shared.update(
        sessionKey,
        (stored, now) => {
          stored.bytes = 0;
          if (stored.session === null && found !== null) stored.session = toShared(found);
          else {
            stored.session ??= createSessionState(here.born);
            rounds.settleIn(stored.session, here, size, now);
          }
        },
        'long',
      );
    } catch (_failed) {
      return false;
    }
    rounds.forget(here, size);
    if (rounds.outcomes.length > 0) return true;
    this.#here.delete(sessionKey);
    await this.#local.records.delete(sessionKey);
    return true;
  }
}

/** A session for a store that lacks it: what runs here settles as late rounds. */
const toShared = (here: SessionState): SessionState => ({
  ...here,
  callsOf: new Map(here.callsOf),
  repeats: new Map(here.repeats),
  tools: new Map(Array.from(here.tools, ([name, tool]) => [name, { ...tool, reservations: [] }])),
});

type Counts = Pick<SessionState, 'rounds' | 'calls' | 'callsOf'>;

/** What this process has counted of a session that its store does not have yet. */
class OutageRounds {
  /** How the rounds counted here went for one tool, with the tool's epoch when each began. */
  outcomes: readonly (Pick<ToolOutcome, 'name' | 'failed' | 'error'> & Pick<AdmittedTool, 'epoch'>)[] = [];
  /** Batches that the store may have let in without an answer: what it then holds for them, they settle here. */
  readonly unanswered = new Set<string>();
  /** As the session was when it was seen last, or when what was counted since went to its store. */
  #before: Counts;
  readonly #failures = new Map<string, number>();

  constructor(seen: Counts) {
    this.#before = copyCounts(seen);
  }

  /** Notes what came of a round. Of a tool at most as many failures as a session without retries left would have had. */
  add(admission: Admission, tools: readonly RequestedTool[], report: RoundReport): void {
    for (const { name, failed, succeeded, error } of report.outcomes) {
      const decision = admission.permits.get(name)?.decision;
      const hasRun = decision === 'free' || decision === 'retry';
      if (!hasRun || failed === succeeded || (failed && !this.#countFailure(name, tools))) continue;
      const { epoch } = readTicket(admission.ticketOf(name));
      this.outcomes = [...this.outcomes, { name, failed, error, epoch }];
    }
  }

  #countFailure(name: string, tools: readonly RequestedTool[]): boolean {
    const failures = (this.#failures.get(name) ?? 0) + 1;
    this.#failures.set(name, failures);
    return failures <= (tools.find((tool) => tool.name === name)?.retries ?? 0) + 1;
  }

  /** Adds to the session in its store what was counted until it was `here`: the first `size` outcomes in their order. */
  settleIn(session: SessionState, here: Counts, size: number, now: number): void {
    const before = this.#before;
    for (const batchId of this.unanswered) dropReservations(session, batchId);
    session.rounds += Math.max(0, here.rounds - before.rounds);
    session.calls += Math.max(0, here.calls - before.calls);
    for (const [name, calls] of here.callsOf) {
      const added = Math.max(0, calls - (before.callsOf.get(name) ?? 0));
      session.callsOf.set(name, (session.callsOf.get(name) ?? 0) + added);
    }
    for (const outcome of this.outcomes.slice(0, size)) addLateOutcome(session, outcome, now);
  }

  /** Forgets what the store has now. */
  forget(here: Counts, size: number): void {
    this.#before = copyCounts(here);
    this.outcomes = this.outcomes.slice(size);
  }
}

const copyCounts = ({ rounds, calls, callsOf }: Counts): Counts => ({ rounds, calls, callsOf: new Map(callsOf) });
