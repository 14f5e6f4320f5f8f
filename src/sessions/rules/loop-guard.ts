import type { CallEnd, CallVerdict, Repeats, RequestedTool, SettledCall } from '../../executor/session-store.ts';
import { RepeatList } from './repeat-list.ts';

/** How the calls of one hash ended in a round. */
type EndedCalls = Pick<SettledCall, 'callEnd'> & Pick<Repeats, 'answer'>;

/**
 * How often in a row each call of a tool failed or gave the same answer, by the hash of the call; a call without has no entry.
 *
 * | state       | step              | before                    | callEnds                                  | becomes |
 * |-------------|-------------------|---------------------------|-------------------------------------------|---------|
 * | settled     | 0                 | after the last round      | none                                      | settled by a round without a name, open by a named one |
 * | open        | of a named round  | before that round         | of the batches of that round so far       | open by the next batch of that round; else settled first |
 */
export type ToolRepeats = {
  readonly before: RepeatList;
  readonly step: number;
  /** In the order in which the round named them. */
  readonly callEnds: ReadonlyMap<number, EndedCalls>;
  /** The size of `before`, where weighing must not decode it. */
  readonly packed?: number;
};

// Further hashes of a round are ignored.
const MAX_HASHES = 16;
// The third failure in a row, and the tenth equal answer, are refused.
const MAX_FAILED = 2;
const MAX_SAME = 9;

const NOTHING: Repeats = { failed: 0, same: 0, answer: '' };

// A hash that comes twice in a round counts once: the higher end counts.
const RANK = { not_run: 0, other: 1, looped: 2, failed: 3, answered: 4 } as const satisfies Record<CallEnd, number>;

// Shared: an empty map takes 180 bytes, and each tool of each session has one.
export const NO_CALL_ENDS: ToolRepeats['callEnds'] = new Map();

/** The guard's refusal of a call that has been repeated so often; null where the call may run. */
export const decideLoop = (repeats: Repeats, { effects, polling }: RequestedTool): CallVerdict | null => {
  if (repeats.failed >= MAX_FAILED) return { kind: 'loop', cause: 'failed', times: repeats.failed + 1 };
  if (repeats.same < MAX_SAME || effects === 'read' || polling) return null;
  return { kind: 'loop', cause: 'same_answer', times: repeats.same + 1 };
};

/** The repeats of a call as the round with this step finds it; 0 = a round without a name. */
export const repeatsBefore = (tool: ToolRepeats, callHash: number, step: number): Repeats => {
  const repeats = tool.before.get(callHash) ?? NOTHING;
  if (tool.step === 0 || tool.step === step) return repeats;
  const end = tool.callEnds.get(callHash);
  return end === undefined ? NOTHING : countRepeat(repeats, end);
};

/** The repeats of a tool after its last round. */
export const repeatsAfter = ({ before, step, callEnds }: ToolRepeats): RepeatList => {
  if (step === 0) return before;
  const after = new RepeatList();
  for (const [callHash, end] of callEnds) after.set(callHash, countRepeat(before.get(callHash) ?? NOTHING, end));
  return after.toKept();
};

/**
 * Counts the calls of a round: `step` is that of a named one, else 0. A tool that is not `read` and has answered may have
 * changed what made other tools fail, so their failures in a row end. Changes `repeats`; says whether they weigh
 * something else now.
 */
export const settleRepeats = (
  repeats: Map<string, ToolRepeats>,
  tools: readonly RequestedTool[],
  calls: readonly SettledCall[],
  step: number,
): boolean => {
  let isReweighed = false;
  for (const { name, effects } of tools) {
    const hasChanged = effects !== 'read' && calls.some(({ tool, callEnd }) => tool === name && callEnd === 'answered');
    if (hasChanged && endFailuresOfOthers(repeats, name, step)) isReweighed = true;
  }
  for (const { name } of tools) if (addRound(repeats, name, calls, step)) isReweighed = true;
  return isReweighed;
};

const endFailuresOfOthers = (repeats: Map<string, ToolRepeats>, changer: string, step: number): boolean => {
  let isReweighed = false;
  for (const [name, tool] of repeats) {
    const ended = name === changer ? tool : withoutFailures(tool, step);
    if (ended === tool) continue;
    keepRepeats(repeats, name, ended);
    isReweighed = true;
  }
  return isReweighed;
};

/** Counts the calls of one tool. A round without a name is settled at once, without a record of how its calls ended. */
const addRound = (
  repeats: Map<string, ToolRepeats>,
  name: string,
  calls: readonly SettledCall[],
  step: number,
): boolean => {
  const tool = repeats.get(name) ?? NONE;
  const isSameRound = step !== 0 && tool.step === step;
  const before = isSameRound ? tool.before : repeatsAfter(tool);
  if (step === 0) {
    const after = countCalls(before, name, calls);
    if (after === null) return false;
    keepRepeats(repeats, name, { before: after, step, callEnds: NO_CALL_ENDS });
    return tool.step !== 0 || tool.before.size !== after.size;
  }
  const callEnds = addCallEnds(isSameRound ? tool.callEnds : NO_CALL_ENDS, name, calls);
  if (callEnds.size === 0) return false;
  repeats.set(name, { before, step, callEnds });
  return true;
};

const NONE: ToolRepeats = { before: new RepeatList(), step: 0, callEnds: NO_CALL_ENDS };

const addCallEnds = (
  before: ToolRepeats['callEnds'],
  name: string,
  calls: readonly SettledCall[],
): ToolRepeats['callEnds'] => {
  const callEnds = new Map(before);
  for (const call of calls) {
    if (call.tool !== name || call.callHash === null) continue;
    const { callHash, callEnd } = call;
    const former = callEnds.get(callHash);
    if (former === undefined ? callEnds.size < MAX_HASHES : RANK[callEnd] >= RANK[former.callEnd])
      callEnds.set(callHash, toEnded(call));
  }
  return callEnds;
};

/** The repeats of a tool after a round without a name; null: it has no such call. */
const countCalls = (before: RepeatList, name: string, calls: readonly SettledCall[]): RepeatList | null => {
  let after: RepeatList | null = null;
  for (const [at, call] of calls.entries()) {
    const { tool, callHash } = call;
    if (tool !== name || callHash === null) continue;
    after ??= new RepeatList();
    const isCounted = after.has(callHash) ? !isOutranked(calls, at) : after.size < MAX_HASHES;
    // The hash of an answer is computed when it is read.
    if (isCounted) after.set(callHash, countRepeat(before.get(callHash) ?? NOTHING, toEnded(call)));
  }
  return after?.toKept() ?? null;
};

const toEnded = ({ callEnd, resultHash }: SettledCall): EndedCalls => ({ callEnd, answer: resultHash ?? '' });

const isOutranked = (calls: readonly SettledCall[], at: number): boolean => {
  const call = calls[at];
  return calls.some(
    ({ tool, callHash, callEnd }, other) =>
      other < at && tool === call?.tool && callHash === call.callHash && RANK[callEnd] > RANK[call.callEnd],
  );
};

/**
 * Ends the tool's failures in a row: those that the round with this step found, and, where another round did it (0 = no
 * round), those of the open named round as well. The same object where there are none.
 */
export const withoutFailures = (tool: ToolRepeats, step: number): ToolRepeats => {
  if (tool.step === 0 && !hasFailure(tool.before)) return tool;
  const before = new RepeatList();
  for (const [callHash, { same, answer }] of tool.before)
    if (same > 0 || answer !== '') before.set(callHash, { failed: 0, same, answer });
  return tool.step === step ? { ...tool, before } : { before, step: tool.step, callEnds: withoutFailedEnds(tool) };
};

const withoutFailedEnds = ({ before, callEnds }: ToolRepeats): ToolRepeats['callEnds'] => {
  const ended = new Map<number, EndedCalls>();
  for (const [callHash, end] of callEnds) {
    const { failed } = countRepeat(before.get(callHash) ?? NOTHING, end);
    ended.set(callHash, failed > 0 && end.callEnd !== 'not_run' ? { callEnd: 'other', answer: '' } : end);
  }
  return ended;
};

const hasFailure = (repeats: RepeatList): boolean => {
  for (const [, { failed }] of repeats) if (failed > 0) return true;
  return false;
};

const countRepeat = (repeats: Repeats, { callEnd, answer }: EndedCalls): Repeats => {
  switch (callEnd) {
    case 'failed':
      return { failed: repeats.failed + 1, same: 0, answer: '' };
    case 'looped':
      // The count that refused the call grows. Where no count would refuse it any more, it has ended meanwhile.
      if (repeats.failed >= MAX_FAILED) return { ...repeats, failed: repeats.failed + 1 };
      return repeats.same >= MAX_SAME ? { ...repeats, same: repeats.same + 1 } : NOTHING;
    case 'answered':
      return { failed: 0, same: repeats.answer === answer ? repeats.same + 1 : 1, answer };
    case 'other':
      return NOTHING;
    case 'not_run':
      return repeats;
  }
};

/** Keeps the repeats of a tool, unless there are none. */
export const keepRepeats = (repeats: Map<string, ToolRepeats>, name: string, tool: ToolRepeats): void => {
  if (tool.before.size === 0 && tool.step === 0) repeats.delete(name);
  else repeats.set(name, tool);
};
