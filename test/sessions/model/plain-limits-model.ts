import type { CallVerdict, RequestedTool } from '#src/executor/session-store.ts';

type Refusal = Extract<CallVerdict, { readonly kind: 'limit' }>;

/**
 * The limits of one session in the plainest words: how many rounds it has had, and which calls may count as run. Written
 * from the rules and not from the stores.
 */
export class PlainLimitsModel {
  rounds = 0;
  calls = 0;
  private readonly settings: { readonly maxCalls: number; readonly maxRounds: number };
  private readonly callsOf = new Map<string, number>();
  /** The named rounds, until when further batches belong to them. */
  private readonly named = new Map<string, { readonly step: number; readonly until: number }>();

  constructor(settings: { readonly maxCalls: number; readonly maxRounds: number }) {
    this.settings = settings;
  }

  /** The number of the round, which is a new one unless it has that name already; null where there are too many. */
  enter(name: string | null, leaseMs: number, now: number): number | null {
    const known = name === null ? undefined : this.named.get(name);
    if (known !== undefined && known.until > now) return known.step;
    const { maxRounds } = this.settings;
    if (maxRounds > 0 && this.rounds >= maxRounds) return null;
    this.rounds += 1;
    if (name !== null) this.named.set(name, { step: this.rounds, until: now + leaseMs });
    return this.rounds;
  }

  tooManyRounds(): Refusal {
    return { kind: 'limit', of: 'session_rounds', limit: this.settings.maxRounds };
  }

  /** Whether one call more of a tool is too many for it, where `more` of this batch come before it. */
  refuseOfTool({ name, maxCalls }: RequestedTool, more: number): Refusal | null {
    if (maxCalls === null || this.callsOfTool(name) + more < maxCalls) return null;
    return { kind: 'limit', of: 'tool_calls', limit: maxCalls };
  }

  /** Whether one call more is too many for the session, where `more` of this batch come before it. */
  refuseOfSession(more: number): Refusal | null {
    const { maxCalls } = this.settings;
    if (maxCalls === 0 || this.calls + more < maxCalls) return null;
    return { kind: 'limit', of: 'session_calls', limit: maxCalls };
  }

  /** A call is let in, or given back. */
  count({ name, maxCalls }: RequestedTool, by: 1 | -1): void {
    this.calls += by;
    if (maxCalls !== null) this.callsOf.set(name, this.callsOfTool(name) + by);
  }

  callsOfTool(name: string): number {
    return this.callsOf.get(name) ?? 0;
  }
}
