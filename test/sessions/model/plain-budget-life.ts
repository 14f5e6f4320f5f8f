import type { Budget, ToolRecord } from '#src/executor/session-store.ts';
import { PlainTool } from './plain-tool-model.ts';

/** A round as far as budgets go. */
export type PlainRound = {
  readonly name: string | null;
  readonly leaseMs: number;
  readonly tools: readonly { readonly name: string; readonly retries: number }[];
};

const UNKNOWN = '_unknown';

/** One life of a session, as the plain model of the retry budget has it. */
export class PlainBudgetLife {
  /** Retries that were running when their lease ended. */
  lost = 0;
  private readonly tools = new Map<string, PlainTool>();
  private readonly sessionRetries: number;
  /** The last round, where it was named, named only known tools and found failures of unknown names. */
  private knownRound: string | null = null;
  /** Until when the named rounds that named an unknown tool go on. */
  private readonly mentions = new Map<string, number>();

  constructor(sessionRetries: number) {
    this.sessionRetries = sessionRetries;
  }

  tool(name: string): PlainTool {
    const tool = this.tools.get(name) ?? new PlainTool();
    this.tools.set(name, tool);
    return tool;
  }

  spent(): number {
    return this.lost + [...this.tools.values()].reduce((sum, tool) => sum + tool.held(), 0);
  }

  left(): number {
    return Math.max(0, this.sessionRetries - this.spent());
  }

  endLeases(now: number): void {
    for (const tool of this.tools.values()) this.lost += tool.endLeases(now);
  }

  reset(name: string | null): void {
    for (const [known, tool] of this.tools) if (name === null || known === name) tool.makeFresh();
    if (name === null) this.lost = 0;
  }

  budget(name: string, limit: number): Budget {
    const tool = this.tool(name);
    const leftInTool = Math.max(0, limit - tool.held());
    const leftInSession = this.left();
    return {
      failures: tool.failures(),
      limit,
      used: tool.used(),
      remaining: Math.min(leftInTool, leftInSession),
      limitedBy: leftInSession < leftInTool ? 'session' : 'tool',
      lastError: tool.failures() === 0 ? '' : tool.lastError,
    };
  }

  record(name: string, now: number): Omit<ToolRecord, 'calls' | 'streak'> {
    const tool = this.tool(name);
    const isFailing = tool.failures() > 0;
    return {
      name,
      failures: tool.failures(),
      used: tool.used(),
      open: tool.running(),
      failedAgoMs: isFailing ? now - tool.lastFailedAt : null,
      lastError: isFailing ? tool.lastError : '',
    };
  }

  /** A round that names only known tools clears the bucket of all others. */
  clearUnknownNames(round: PlainRound, now: number): void {
    if (round.tools.length === 0) return;
    const unknown = this.tool(UNKNOWN);
    const before = this.knownRound;
    const isKnown = round.tools.every(({ name }) => name !== UNKNOWN);
    if (!isKnown && round.name !== null && !this.hasNamedUnknown(round.name, now))
      this.mentions.set(round.name, now + round.leaseMs);
    const isKnownSoFar = isKnown && unknown.failures() > 0 && !this.hasNamedUnknown(round.name, now);
    if ((before !== null && before !== round.name) || (isKnown && round.name === null)) unknown.makeFresh();
    this.knownRound = isKnownSoFar ? round.name : null;
  }

  private hasNamedUnknown(round: string | null, now: number): boolean {
    return round !== null && (this.mentions.get(round) ?? 0) > now;
  }
}
