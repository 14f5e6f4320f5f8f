import type { CallEnd, CallVerdict, Repeats, RequestedTool, SettledCall } from '../../executor/session-store.ts';

/** How the calls of one hash ended in a round. */
type RoundEnding = Pick<SettledCall, 'ending'> & Pick<Repeats, 'answer'>;

/**
 * The streaks of a tool by the hash of a call; a call without failures and answers in a row has none.
 *
 * | state       | step              | before                    | endings                                   | becomes |
 * |-------------|-------------------|---------------------------|-------------------------------------------|---------|
 * | settled     | 0                 | after the last round      | none                                      | settled by a round without a name, open by a named one |
 * | open        | of a named round  | before that round         | of the batches of that round so far       | open by the next batch of that round; else settled first |
 */
export type ToolStreaks = {
  readonly before: ReadonlyMap<number, Repeats>;
  readonly step: number;
  /** In the order in which the round named them. */
  readonly endings: ReadonlyMap<number, RoundEnding>;
  /** The size of `before`, where weighing the streaks must not decode them. */
  readonly packed?: number;
};

// Further hashes of a round are ignored.
const MAX_HASHES = 16;
// The third failure in a row, and the tenth equal answer, are refused.
const MAX_FAILED = 2;
const MAX_SAME = 9;

const NOTHING: Repeats = { failed: 0, same: 0, answer: '' };

// A hash that comes twice in a round counts once: the higher ending counts.
const RANK = { not_run: 0, other: 1, looped: 2, failed: 3, answered: 4 } as const satisfies Record<CallEnd, number>;

// Shared: an empty map takes 180 bytes, and each tool of each session has one.
export const NO_ENDINGS: ToolStreaks['endings'] = new Map();

/** The guard's refusal of a call that has this streak; null where the call may run. */
export const decideLoop = (streak: Repeats, { effects, polling }: RequestedTool): CallVerdict | null => {
  if (streak.failed >= MAX_FAILED) return { kind: 'loop', cause: 'failed', times: streak.failed + 1 };
  if (streak.same < MAX_SAME || effects === 'read' || polling) return null;
  return { kind: 'loop', cause: 'same_answer', times: streak.same + 1 };
};

/** A call's streak as the round with this step finds it; 0 = a round without a name. */
export const streakBefore = (tool: ToolStreaks, callHash: number, step: number): Repeats => {
  const streak = tool.before.get(callHash) ?? NOTHING;
  if (tool.step === 0 || tool.step === step) return streak;
  const ending = tool.endings.get(callHash);
  return ending === undefined ? NOTHING : afterEnding(streak, ending);
};

/** A tool's streaks after its last round. */
export const streaksAfter = ({ before, step, endings }: ToolStreaks): ReadonlyMap<number, Repeats> => {
  if (step === 0) return before;
  const after = new Map<number, Repeats>();
  for (const [callHash, ending] of endings) {
    const streak = afterEnding(before.get(callHash) ?? NOTHING, ending);
    if (streak !== NOTHING) after.set(callHash, streak);
  }
  return after;
};

/**
 * Counts the calls of a round: `step` is that of a named one, else 0. A tool that is not `read` and has answered may have
 * changed what made other tools fail, so their failures in a row end. Changes `streaks`; says whether they weigh
 * something else now.
 */
export const settleStreaks = (
  streaks: Map<string, ToolStreaks>,
  tools: readonly RequestedTool[],
  calls: readonly SettledCall[],
  step: number,
): boolean => {
  let isReweighed = false;
  for (const { name, effects } of tools) {
    const hasChanged = effects !== 'read' && calls.some(({ tool, ending }) => tool === name && ending === 'answered');
    if (hasChanged && endFailuresOfOthers(streaks, name, step)) isReweighed = true;
  }
  for (const { name } of tools) if (addRound(streaks, name, calls, step)) isReweighed = true;
  return isReweighed;
};

const endFailuresOfOthers = (streaks: Map<string, ToolStreaks>, changer: string, step: number): boolean => {
  let isReweighed = false;
  for (const [name, tool] of streaks) {
    const ended = name === changer ? tool : withoutFailures(tool, step);
    if (ended === tool) continue;
    keepStreaks(streaks, name, ended);
    isReweighed = true;
  }
  return isReweighed;
};

const addRound = (
  streaks: Map<string, ToolStreaks>,
  name: string,
  calls: readonly SettledCall[],
  step: number,
): boolean => {
  const tool = streaks.get(name) ?? NONE;
  if (step !== 0) return addNamedRound(streaks, name, calls, step);
  const after = countCalls(streaksAfter(tool), name, calls);
  if (after === null) return false;
  keepStreaks(streaks, name, { before: after, step: 0, endings: NO_ENDINGS });
  return tool.step !== 0 || tool.before.size !== after.size;
};

const addNamedRound = (
  streaks: Map<string, ToolStreaks>,
  name: string,
  calls: readonly SettledCall[],
  step: number,
): boolean => {
  const tool = streaks.get(name) ?? NONE;
  const [before, former] = tool.step === step ? [tool.before, tool.endings] : [streaksAfter(tool), NO_ENDINGS];
  const endings = addEndings(former, name, calls);
  if (endings.size > 0) streaks.set(name, { before, step, endings });
  return endings.size > 0;
};

const NONE: ToolStreaks = { before: new Map(), step: 0, endings: NO_ENDINGS };

const addEndings = (
  before: ToolStreaks['endings'],
  name: string,
  calls: readonly SettledCall[],
): ToolStreaks['endings'] => {
  const endings = new Map(before);
  for (const call of calls) {
    if (call.tool !== name || call.callHash === null) continue;
    const { callHash, ending, resultHash } = call;
    const former = endings.get(callHash);
    if (former === undefined ? endings.size < MAX_HASHES : RANK[ending] >= RANK[former.ending])
      endings.set(callHash, { ending, answer: resultHash ?? '' });
  }
  return endings;
};

/** The streaks of a tool after a round without a name, made without a record of its endings; null: it has no such call. */
const countCalls = (
  before: ToolStreaks['before'],
  name: string,
  calls: readonly SettledCall[],
): ToolStreaks['before'] | null => {
  let after: Map<number, Repeats> | null = null;
  for (const [at, call] of calls.entries()) {
    if (call.tool !== name || call.callHash === null) continue;
    after ??= new Map();
    const { callHash, ending, resultHash } = call;
    const isCounted = after.has(callHash) ? !isOutranked(calls, at) : after.size < MAX_HASHES;
    if (isCounted)
      after.set(callHash, afterEnding(before.get(callHash) ?? NOTHING, { ending, answer: resultHash ?? '' }));
  }
  return withoutNothing(after);
};

const withoutNothing = (streaks: Map<number, Repeats> | null): ToolStreaks['before'] | null => {
  for (const [callHash, streak] of streaks ?? []) if (streak === NOTHING) streaks?.delete(callHash);
  return streaks;
};

const isOutranked = (calls: readonly SettledCall[], at: number): boolean => {
  const call = calls[at];
  return calls.some(
    ({ tool, callHash, ending }, other) =>
      other < at && tool === call?.tool && callHash === call.callHash && RANK[ending] > RANK[call.ending],
  );
};

/**
 * Ends the tool's failures in a row: those that the round with this step found, and, where another round did it (0 = no
 * round), those of the open named round as well. The same object where there are none.
 */
export const withoutFailures = (tool: ToolStreaks, step: number): ToolStreaks => {
  if (tool.step === 0 && !hasFailure(tool.before)) return tool;
  const before = new Map<number, Repeats>();
  for (const [callHash, { same, answer }] of tool.before)
    if (same > 0 || answer !== '') before.set(callHash, { failed: 0, same, answer });
  return tool.step === step ? { ...tool, before } : { before, step: tool.step, endings: withoutFailedEndings(tool) };
};

const withoutFailedEndings = ({ before, endings }: ToolStreaks): ToolStreaks['endings'] => {
  const ended = new Map<number, RoundEnding>();
  for (const [callHash, ending] of endings) {
    const { failed } = afterEnding(before.get(callHash) ?? NOTHING, ending);
    ended.set(callHash, failed > 0 && ending.ending !== 'not_run' ? { ending: 'other', answer: '' } : ending);
  }
  return ended;
};

const hasFailure = (streaks: ToolStreaks['before']): boolean => {
  for (const { failed } of streaks.values()) if (failed > 0) return true;
  return false;
};

const afterEnding = (streak: Repeats, { ending, answer }: RoundEnding): Repeats => {
  switch (ending) {
    case 'failed':
      return { failed: streak.failed + 1, same: 0, answer: '' };
    case 'looped':
      // The count that refused the call grows. Where no count would refuse it any more, it has ended meanwhile.
      if (streak.failed >= MAX_FAILED) return { ...streak, failed: streak.failed + 1 };
      return streak.same >= MAX_SAME ? { ...streak, same: streak.same + 1 } : NOTHING;
    case 'answered':
      return { failed: 0, same: streak.answer === answer ? streak.same + 1 : 1, answer };
    case 'other':
      return NOTHING;
    case 'not_run':
      return streak;
  }
};

/** Keeps the streaks of a tool, unless there are none. */
export const keepStreaks = (streaks: Map<string, ToolStreaks>, name: string, tool: ToolStreaks): void => {
  if (tool.before.size === 0 && tool.step === 0) streaks.delete(name);
  else streaks.set(name, tool);
};
