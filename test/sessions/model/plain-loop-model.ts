import type { CallEnd, CallVerdict, Repeats, SettledCall } from '#src/executor/session-store.ts';

/** What the loop guard wants to know of a tool. */
export type GuardedTool = {
  readonly name: string;
  readonly effects: 'read' | 'idempotent' | 'write';
  readonly polling: boolean;
};

type Ending = Pick<SettledCall, 'callEnd'> & Pick<Repeats, 'answer'>;
type Streaks = ReadonlyMap<number, Repeats>;

/** What a tool's last round found, and what has come of each call of it so far. */
type LastRound = { readonly step: number; readonly before: Streaks; readonly ends: ReadonlyMap<number, Ending> };

const NEVER: Repeats = { failed: 0, same: 0, answer: '' };
// Of several ends of one call in one round the first of these counts.
const RANKS: readonly CallEnd[] = ['answered', 'failed', 'looped', 'other', 'not_run'];
const MAX_FINGERPRINTS = 16;

/**
 * The loop guard of one session in the plainest words: for each tool what its last round found and what came of it.
 * Written from the rules and not from the stores.
 *
 * Where the rules are silent it decides:
 * - All batches of a named round are one round, as long as no other round of the tool has settled between them.
 * - Of several answers to one call in one round the last counts.
 * - A success of another tool in the same round ends the failures that stood before it; one in another round, and a reset,
 *   ends those of the round itself as well.
 * - A call that was refused as a loop grows the count that refuses it. Where none does any more, it has no streak.
 */
export class PlainLoopModel {
  private readonly lastRounds = new Map<string, LastRound>();

  /** May this call run, as far as its past goes? */
  judge(tool: GuardedTool, fingerprint: number | null, step: number): Exclude<CallVerdict, { readonly kind: 'limit' }> {
    if (fingerprint === null) return { kind: 'run', repeats: null };
    const streak = this.streaksBefore(tool.name, step).get(fingerprint) ?? NEVER;
    if (streak.failed >= 2) return { kind: 'loop', cause: 'failed', times: streak.failed + 1 };
    const isGuarded = tool.effects !== 'read' && !tool.polling;
    if (isGuarded && streak.same >= 9) return { kind: 'loop', cause: 'same_answer', times: streak.same + 1 };
    return { kind: 'run', repeats: streak };
  }

  /** A round is over, or a batch of it. */
  settle(tools: readonly GuardedTool[], calls: readonly SettledCall[], step: number): void {
    const working = tools.filter(
      ({ name, effects }) =>
        effects !== 'read' && calls.some(({ tool, callEnd }) => tool === name && callEnd === 'answered'),
    );
    for (const [name, round] of this.lastRounds)
      if (working.some((tool) => tool.name !== name)) this.lastRounds.set(name, forgive(round, step));
    for (const { name } of tools) this.settleTool(name, calls, step);
  }

  /** No failure is held against calls of this tool any more, or of any (null). */
  reset(tool: string | null): void {
    for (const [name, round] of this.lastRounds)
      if (tool === null || name === tool) this.lastRounds.set(name, forgive(round, null));
  }

  /** The longest of a tool's last round. */
  longest(tool: string): { readonly failed: number; readonly same: number } {
    const streaks = [...this.streaksAfter(tool).values()];
    return {
      failed: Math.max(0, ...streaks.map(({ failed }) => failed)),
      same: Math.max(0, ...streaks.map(({ same }) => same)),
    };
  }

  private streaksBefore(tool: string, step: number): Streaks {
    const last = this.lastRounds.get(tool);
    return last?.step === step ? last.before : this.streaksAfter(tool);
  }

  private streaksAfter(tool: string): Streaks {
    const last = this.lastRounds.get(tool);
    if (last === undefined) return new Map();
    const kept = [...last.ends].slice(0, MAX_FINGERPRINTS);
    return new Map(kept.map(([print, end]) => [print, goOn(last.before.get(print) ?? NEVER, end)]));
  }

  private settleTool(tool: string, calls: readonly SettledCall[], step: number): void {
    const own = calls.filter((call) => call.tool === tool && call.callHash !== null);
    if (own.length === 0) return;
    const last = this.lastRounds.get(tool);
    const ends = new Map(last?.step === step ? last.ends : []);
    const before = this.streaksBefore(tool, step);
    for (const { callHash, callEnd, resultHash } of own) {
      const hash = callHash ?? 0;
      ends.set(hash, decisive(ends.get(hash), { callEnd, answer: resultHash ?? '' }));
    }
    this.lastRounds.set(tool, { step, before, ends });
  }
}

const decisive = (one: Ending | undefined, other: Ending): Ending =>
  one !== undefined && RANKS.indexOf(one.callEnd) < RANKS.indexOf(other.callEnd) ? one : other;

const goOn = (before: Repeats, { callEnd, answer }: Ending): Repeats => {
  switch (callEnd) {
    case 'failed':
      return { failed: before.failed + 1, same: 0, answer: '' };
    case 'answered':
      return { failed: 0, same: before.answer === answer ? before.same + 1 : 1, answer };
    case 'looped':
      if (before.failed >= 2) return { ...before, failed: before.failed + 1 };
      return before.same >= 9 ? { ...before, same: before.same + 1 } : NEVER;
    case 'other':
      return NEVER;
    case 'not_run':
      return before;
  }
};

/** Ends the failures that stood before the round; its own as well, unless it is the one numbered `by`. */
const forgive = ({ step, before, ends }: LastRound, by: number | null): LastRound => {
  const isOwn = step === by;
  const hasFailed = (print: number, { callEnd }: Ending): boolean =>
    callEnd === 'failed' || (callEnd === 'looped' && (before.get(print)?.failed ?? 0) >= 2);
  return {
    step,
    before: new Map([...before].map(([print, streak]) => [print, { ...streak, failed: 0 }])),
    ends: new Map(
      [...ends].map(([print, end]) => [
        print,
        !isOwn && hasFailed(print, end) ? { callEnd: 'other', answer: '' } : end,
      ]),
    ),
  };
};
