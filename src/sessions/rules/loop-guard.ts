import type { AskedTool, CallEnding, CallVerdict, SettledCall, Streak } from '../../executor/session-store.ts';

/** How the calls of one fingerprint, which is a call's hash, ended in a round. */
type RoundEnding = Pick<SettledCall, 'ending'> & Pick<Streak, 'answer'>;

/** By tool and fingerprint. */
export type RoundEndings = ReadonlyMap<string, ReadonlyMap<number, RoundEnding>>;

/**
 * A tool's streaks by the print of a call, those of nothing left out. The batches of a named round are one round: until
 * another begins, its endings stand beside the streaks before it.
 */
export type ToolStreaks = {
  readonly before: ReadonlyMap<number, Streak>;
  /** The step of the named round whose endings stand; 0 where none do. */
  readonly step: number;
  /** In the order in which the round named them. */
  readonly endings: ReadonlyMap<number, RoundEnding>;
  /** How many streaks there are before it, where weighing them must not read them. */
  readonly packed?: number;
};

// A round's further fingerprints are not looked at.
export const MAX_FINGERPRINTS = 16;
// The third failure in a row, and the tenth equal answer, are refused.
const MAX_FAILED = 2;
const MAX_SAME = 9;

const NOTHING: Streak = { failed: 0, same: 0, answer: '' };

// One fingerprint twice in a round counts once: the higher ending counts.
const RANK = { not_run: 0, other: 1, looped: 2, failed: 3, answered: 4 } as const satisfies Record<CallEnding, number>;

/** What the guard says of a call that has this streak; null where it may run. */
export const toLoopVerdict = (streak: Streak, { effects, polling }: AskedTool): CallVerdict | null => {
  if (streak.failed >= MAX_FAILED) return { kind: 'loop', cause: 'failed', times: streak.failed + 1 };
  if (streak.same < MAX_SAME || effects === 'read' || polling) return null;
  return { kind: 'loop', cause: 'same_answer', times: streak.same + 1 };
};

/** A call's streak as the round with this step finds it; 0 = a round without a name. */
export const streakBefore = (tool: ToolStreaks | undefined, fingerprint: number, step: number): Streak => {
  if (tool === undefined) return NOTHING;
  const streak = tool.before.get(fingerprint) ?? NOTHING;
  if (tool.step === 0 || tool.step === step) return streak;
  const ending = tool.endings.get(fingerprint);
  return ending === undefined ? NOTHING : afterEnding(streak, ending);
};

/** A tool's streaks after its last round. */
export const streaksAfter = ({ before, step, endings }: ToolStreaks): ReadonlyMap<number, Streak> => {
  if (step === 0) return before;
  const after = new Map<number, Streak>();
  for (const [fingerprint, ending] of endings) {
    const streak = afterEnding(before.get(fingerprint) ?? NOTHING, ending);
    if (streak.failed > 0 || streak.same > 0 || streak.answer !== '') after.set(fingerprint, streak);
  }
  return after;
};

/** How each tool's fingerprints ended: the first sixteen, each once. */
export const toRoundEndings = (calls: readonly SettledCall[]): RoundEndings => {
  const endings = new Map<string, Map<number, RoundEnding>>();
  for (const { tool, callHash, ending, resultHash } of calls) {
    if (callHash === null) continue;
    const ofTool = endings.get(tool) ?? new Map<number, RoundEnding>();
    endings.set(tool, ofTool);
    addEnding(ofTool, callHash, { ending, answer: resultHash ?? '' });
  }
  return endings;
};

/**
 * Counts a round: `step` is that of a named one, else 0; `changers` are the tools by which something has changed, so
 * that what failed with all others may go well now. Changes `streaks`.
 */
export const settleStreaks = (
  streaks: Map<string, ToolStreaks>,
  endings: RoundEndings,
  changers: ReadonlySet<string>,
  step: number,
): void => {
  for (const [name, tool] of streaks) {
    const byOthers = changers.size - (changers.has(name) ? 1 : 0);
    if (byOthers > 0) keepStreaks(streaks, name, withoutFailures(tool, step));
  }
  for (const [name, ofTool] of endings) keepStreaks(streaks, name, addRound(streaks.get(name), ofTool, step));
};

/** What settleStreaks does where a round without a name has changed something by one tool. Changes `streaks`. */
export const endFailuresOfOthers = (streaks: Map<string, ToolStreaks>, changer: string): void => {
  for (const [name, tool] of streaks) if (name !== changer) keepStreaks(streaks, name, withoutFailures(tool, 0));
};

/**
 * What settleStreaks does for a tool of a round without a name whose calls were all answered. Changes `streaks`; says
 * whether they weigh something else now.
 */
export const addAnswers = (
  streaks: Map<string, ToolStreaks>,
  name: string,
  calls: readonly SettledCall[],
): 'nothing' | 'same' | 'other' => {
  const tool = streaks.get(name);
  const before = toAnswers(tool === undefined ? NO_STREAKS : streaksAfter(tool), name, calls);
  if (before === null) return 'nothing';
  streaks.set(name, { before, step: 0, endings: NO_ENDINGS });
  return tool?.step === 0 && tool.before.size === before.size ? 'same' : 'other';
};

const toAnswers = (
  before: ReadonlyMap<number, Streak>,
  name: string,
  calls: readonly SettledCall[],
): ReadonlyMap<number, Streak> | null => {
  let streaks: Map<number, Streak> | null = null;
  for (const call of calls) {
    if (call.tool !== name) continue;
    const { callHash, resultHash } = call;
    if (callHash === null || resultHash === null) continue;
    streaks ??= new Map();
    if (streaks.size < MAX_FINGERPRINTS || streaks.has(callHash))
      streaks.set(callHash, afterAnswer(before.get(callHash) ?? NOTHING, resultHash));
  }
  return streaks;
};

const afterAnswer = ({ same, answer: before }: Streak, answer: Streak['answer']): Streak => ({
  failed: 0,
  same: before === answer ? same + 1 : 1,
  answer,
});

/**
 * Ends the tool's failures in a row: those that the round with this step found, and, where another round did it (0 = no
 * round), those of the named round that stands as well.
 */
export const withoutFailures = (tool: ToolStreaks, step: number): ToolStreaks => {
  if (tool.step === 0 && !hasFailure(tool.before)) return tool;
  const before = new Map<number, Streak>();
  for (const [fingerprint, { same, answer }] of tool.before)
    if (same > 0 || answer !== '') before.set(fingerprint, { failed: 0, same, answer });
  return tool.step === step ? { ...tool, before } : { ...tool, before, endings: endFailures(tool) };
};

const endFailures = ({ before, endings }: ToolStreaks): ToolStreaks['endings'] => {
  const ended = new Map<number, RoundEnding>();
  for (const [fingerprint, ending] of endings) {
    const { failed } = afterEnding(before.get(fingerprint) ?? NOTHING, ending);
    ended.set(fingerprint, failed > 0 && ending.ending !== 'not_run' ? { ending: 'other', answer: '' } : ending);
  }
  return ended;
};

const hasFailure = (streaks: ToolStreaks['before']): boolean => {
  for (const { failed } of streaks.values()) if (failed > 0) return true;
  return false;
};

const addRound = (
  tool: ToolStreaks | undefined,
  endings: ReadonlyMap<number, RoundEnding>,
  step: number,
): ToolStreaks => {
  if (step !== 0 && tool?.step === step) {
    const merged = new Map(tool.endings);
    for (const [fingerprint, ending] of endings) addEnding(merged, fingerprint, ending);
    return { ...tool, endings: merged };
  }
  const before = tool === undefined ? new Map<number, Streak>() : streaksAfter(tool);
  if (step !== 0) return { before, step, endings };
  return { before: streaksAfter({ before, step: -1, endings }), step: 0, endings: NO_ENDINGS };
};

// Shared: an empty map takes 180 bytes, and each tool of each session has one.
const NO_ENDINGS: ToolStreaks['endings'] = new Map();
const NO_STREAKS: ToolStreaks['before'] = new Map();

const addEnding = (endings: Map<number, RoundEnding>, fingerprint: number, next: RoundEnding): void => {
  const before = endings.get(fingerprint);
  if (before === undefined && endings.size >= MAX_FINGERPRINTS) return;
  if (before === undefined || RANK[next.ending] >= RANK[before.ending]) endings.set(fingerprint, next);
};

const afterEnding = (streak: Streak, { ending, answer }: RoundEnding): Streak => {
  switch (ending) {
    case 'failed':
      return { failed: streak.failed + 1, same: 0, answer: '' };
    case 'looped':
      return afterLoop(streak);
    case 'answered':
      return afterAnswer(streak, answer);
    case 'other':
      return NOTHING;
    case 'not_run':
      return streak;
  }
};

// The count that refused it grows. Where none would any more it has ended meanwhile.
const afterLoop = (streak: Streak): Streak => {
  if (streak.failed >= MAX_FAILED) return { ...streak, failed: streak.failed + 1 };
  return streak.same >= MAX_SAME ? { ...streak, same: streak.same + 1 } : NOTHING;
};

/** Keeps them, unless there is nothing to keep. */
export const keepStreaks = (streaks: Map<string, ToolStreaks>, name: string, tool: ToolStreaks): void => {
  if (tool.before.size === 0 && tool.step === 0) streaks.delete(name);
  else streaks.set(name, tool);
};
