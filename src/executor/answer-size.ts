import type { Issue } from '../contract/tool-result.ts';
import { isSafe, type Tool } from '../tools/tool.ts';
import type { AnswerMemory } from './batch.ts';
import { type CallEnd, failed, type RanCall } from './call-end.ts';
import { toFailure } from './failure.ts';
import { leastLength } from './least-length.ts';
import type { RunEnd } from './run-end.ts';

/** What the values of one batch come to, in bytes of JSON, while its calls run and when it is answered. */
export type AnswerSize = {
  /** The end of a call whose value is large and certainly beyond the limit: it need not be written as JSON. Else null. */
  readonly refuse: (index: number, tool: Tool, run: RunEnd) => CallEnd | null;
  /** Takes in a call that has ended; where there is no room for its value, or for that of a later call, that goes. */
  readonly keep: (index: number, tool: Tool, ran: RanCall) => void;
  /** The call as it is answered. To be asked once for each, in the order of the calls. */
  readonly fit: (index: number, tool: Tool | null, ran: RanCall) => RanCall;
  /** Bytes of JSON that are held for the batch now, without what is small. */
  readonly heldBytes: () => number;
};

// What is no larger is answered always: all of a batch's calls together would not come to much.
const FREE_BYTES = 1024;

/**
 * Bounds the values of a batch: a call is answered whole where it and all before it come to no more than `limitBytes`.
 * The rule is the same whichever call ends first. While calls run, values that cannot be answered any more are let go at
 * once, so that a batch never holds more than its limit.
 */
export const createAnswerSize = (limitBytes: number, memory: AnswerMemory | null): AnswerSize => {
  // Created with the first value that counts: most batches have none.
  let sizes: Map<number, number> | undefined;
  let held: Map<number, { readonly ran: RanCall; readonly tool: Tool }> | undefined;
  let heldBytes = 0;
  let answeredBytes = 0;

  const letGo = (index: number): void => {
    const last = held?.get(index);
    if (last === undefined) return;
    const bytes = sizes?.get(index) ?? 0;
    held?.delete(index);
    heldBytes -= bytes;
    memory?.give(bytes);
    last.ran.end = toCut(last.ran.end, last.tool, overLimitText(limitBytes));
  };
  const bytesBefore = (index: number): number => {
    let sum = 0;
    for (const [place, bytes] of sizes ?? NO_SIZES) if (place < index) sum += bytes;
    return sum;
  };
  return {
    heldBytes: () => heldBytes,
    refuse: (index, tool, run) => {
      if (heldBytes === 0 || run.kind !== 'returned' || !isSafe(tool)) return null;
      if (leastLength(run.value) <= FREE_BYTES || bytesBefore(index) + FREE_BYTES < limitBytes) return null;
      return toTooLarge(tool, overLimitText(limitBytes));
    },
    keep: (index, tool, ran) => {
      const bytes = sizeOf(ran.end);
      if (bytes <= FREE_BYTES) return;
      if (memory?.take(bytes) === false) {
        ran.end = toCut(ran.end, tool, NO_ROOM_TEXT);
        return;
      }
      sizes ??= new Map();
      held ??= new Map();
      sizes.set(index, bytes);
      held.set(index, { ran, tool });
      heldBytes += bytes;
      // The last ones: what they and all before them come to is over the limit, whatever else is still to end.
      while (heldBytes > limitBytes) letGo(Math.max(...held.keys()));
    },
    fit: (index, tool, ran) => {
      const own = sizes?.get(index);
      const bytes = own ?? sizeOf(ran.end, ran.kept);
      if (bytes <= FREE_BYTES) return ran;
      answeredBytes += bytes;
      const isOver = answeredBytes > limitBytes;
      // Copies, and what an earlier try of the batch left, were not taken in when they ended.
      const hasRoom = own !== undefined || isOver || memory?.take(bytes) !== false;
      // What an earlier try was answered is answered again, whole: it was within the limit then.
      if (ran.kept !== undefined || tool === null || (hasRoom && !isOver)) return ran;
      return { ...ran, end: toCut(ran.end, tool, isOver ? overLimitText(limitBytes) : NO_ROOM_TEXT) };
    },
  };
};

const NO_SIZES: ReadonlyMap<number, number> = new Map();

const sizeOf = (end: CallEnd, kept?: string): number => {
  if (kept !== undefined) return jsonBytes(kept);
  const bytes = jsonBytes(end.valueJson);
  return end.kind === 'failure' && end.failure.issues.length > 0 ? bytes + issuesBytes(end.failure.issues) : bytes;
};

// A character has one to three bytes of UTF-8: what is small by any count need not be counted.
const jsonBytes = (json: string): number => (json.length * 3 <= FREE_BYTES ? json.length : Buffer.byteLength(json));

const issuesBytes = (issues: readonly Issue[]): number => Buffer.byteLength(JSON.stringify(issues));

const overLimitText = (limitBytes: number): string =>
  `The results of this batch are together larger than ${limitBytes} bytes, so this one is left out. Ask for less, or make fewer calls at once.`;

const NO_ROOM_TEXT =
  'The service holds too many answers that are not sent yet, so this result is left out. Call again later, and make fewer calls at once.';

const toTooLarge = (tool: Tool, message: string): CallEnd =>
  failed(toFailure('output_too_large', `Tool '${tool.name}' ran. ${message}`, tool));

/** The end of a call that has ended so, without what does not fit into the answer. */
const toCut = (end: CallEnd, tool: Tool, message: string): CallEnd => {
  // Its code and its message say more than that there was not room for all of it.
  if (end.kind === 'failure') return failed({ ...end.failure, issues: [] });
  if (isSafe(tool)) return toTooLarge(tool, message);
  // What a write tool did cannot be undone by refusing its answer.
  return { ...end, valueJson: 'null', marks: ['truncated'], warnings: [{ code: 'output_too_large', message }] };
};
