import { types } from 'node:util';
import type { Issue } from '../contract/tool-result.ts';
import { isSafe, type Tool } from '../tools/tool.ts';
import type { BatchMemory } from './batch-request.ts';
import { type CallOutcome, failed, toFailure } from './call-outcome.ts';
import type { RunOutcome } from './deadline.ts';

/** What is looked at and cut of a call. */
type SizedCall = {
  readonly index: number;
  readonly tool: Tool | null;
  readonly storedResult: string | null;
  readonly outcome: CallOutcome | null;
  /** Replaces its outcome. */
  readonly end: (outcome: CallOutcome) => void;
};
type EndedCall = SizedCall & { readonly tool: Tool };

// What is no larger is answered always: all of a batch's calls together would not come to much.
const FREE_BYTES = 1024;

/**
 * Bounds the values of a batch, in bytes of JSON: a call is answered whole where it and all before it come to no more than
 * `limitBytes`. The rule is the same whichever call ends first. While calls run, values that cannot be answered any more are
 * let go at once, so that a batch never holds more than its limit.
 */
export class AnswerSize {
  readonly #limitBytes: number;
  readonly #memory: BatchMemory | null;
  // Made with the first value that counts: most batches have none.
  #sizes: Map<number, number> | undefined;
  #stored: Map<number, EndedCall> | undefined;
  #storedBytes = 0;
  #answeredBytes = 0;

  constructor(limitBytes: number, memory: BatchMemory | null) {
    this.#limitBytes = limitBytes;
    this.#memory = memory;
  }

  /** Bytes of JSON that are stored for the batch now, without what is small. */
  get storedBytes(): number {
    return this.#storedBytes;
  }

  /** The outcome of a call whose value is large and certainly beyond the limit: it need not be written as JSON. Else null. */
  refuse({ index, tool }: EndedCall, run: RunOutcome): CallOutcome | null {
    if (this.#storedBytes === 0 || run.kind !== 'returned' || !isSafe(tool)) return null;
    if (leastLength(run.value) <= FREE_BYTES || this.#bytesBefore(index) + FREE_BYTES < this.#limitBytes) return null;
    return toTooLarge(tool, overLimitText(this.#limitBytes));
  }

  /** Takes in a call that has ended; where there is no room for its value, or for that of a later call, that goes. */
  keep(call: EndedCall): void {
    const { outcome, index, tool } = call;
    const bytes = outcome === null ? 0 : sizeOf(outcome, null);
    if (outcome === null || bytes <= FREE_BYTES) return;
    if (this.#memory?.take(bytes) === false) {
      call.end(toCut(outcome, tool, NO_ROOM_TEXT));
      return;
    }
    this.#sizes ??= new Map();
    this.#stored ??= new Map();
    this.#sizes.set(index, bytes);
    this.#stored.set(index, call);
    this.#storedBytes += bytes;
    // The last ones: what they and all before them come to is over the limit, whatever else is still to end.
    while (this.#storedBytes > this.#limitBytes) this.#release(Math.max(...this.#stored.keys()));
  }

  /** Cuts the outcome to what the answer has room for. To be asked once for each call, in their order. */
  fit(call: SizedCall): void {
    const { outcome, index, tool, storedResult } = call;
    if (outcome === null) return;
    const own = this.#sizes?.get(index);
    const bytes = own ?? sizeOf(outcome, storedResult);
    if (bytes <= FREE_BYTES) return;
    this.#answeredBytes += bytes;
    const isOver = this.#answeredBytes > this.#limitBytes;
    // Copies, and what an earlier try of the batch left, were not taken in when they ended.
    const hasRoom = own !== undefined || isOver || this.#memory?.take(bytes) !== false;
    // What an earlier try was answered is answered again, whole: it was within the limit then.
    if (storedResult !== null || tool === null || (hasRoom && !isOver)) return;
    call.end(toCut(outcome, tool, isOver ? overLimitText(this.#limitBytes) : NO_ROOM_TEXT));
  }

  /** Counts, in the order of the calls, a value that was answered before its turn: it had room. */
  count({ index }: SizedCall): void {
    this.#answeredBytes += this.#sizes?.get(index) ?? 0;
  }

  /**
   * Whether a call that has ended is answered whole whatever those of `calls` that run still come to: `mostBytes` each, or a
   * failure with all its issues.
   */
  hasRoomFor({ index }: SizedCall, calls: readonly SizedCall[], mostBytes: number): boolean {
    const own = this.#sizes?.get(index);
    if (own === undefined) return true;
    let bytes = own;
    for (const call of calls) {
      if (call.index >= index) break;
      if (call.outcome === null) bytes += Math.max(mostBytes, MOST_ISSUE_BYTES);
      else bytes += this.#sizes?.get(call.index) ?? sizeOf(call.outcome, call.storedResult);
    }
    return bytes <= this.#limitBytes;
  }

  #release(index: number): void {
    const call = this.#stored?.get(index);
    if (call === undefined) return;
    const bytes = this.#sizes?.get(index) ?? 0;
    this.#stored?.delete(index);
    this.#storedBytes -= bytes;
    this.#memory?.give(bytes);
    if (call.outcome !== null) call.end(toCut(call.outcome, call.tool, overLimitText(this.#limitBytes)));
  }

  #bytesBefore(index: number): number {
    let sum = 0;
    for (const [place, bytes] of this.#sizes ?? NO_SIZES) if (place < index) sum += bytes;
    return sum;
  }
}

// A hundred issues, each with four texts of 500 characters that JSON writes as six.
const MOST_ISSUE_BYTES = 1_200_000;
const NO_SIZES: ReadonlyMap<number, number> = new Map();

const sizeOf = (end: CallOutcome, kept: string | null): number => {
  if (kept !== null) return jsonBytes(kept);
  const bytes = jsonBytes(end.valueJson);
  return end.kind === 'failure' && end.failure.issues.length > 0 ? withIssues(bytes, end.failure.issues) : bytes;
};

// Not written as JSON where all is small whatever is in it: that took as long as the rest of a failure.
const withIssues = (bytes: number, issues: readonly Issue[]): number => {
  const characters = countCharacters(issues);
  const names = bytes + issues.length * ISSUE_BYTES;
  if (names + characters * ESCAPED_BYTES <= FREE_BYTES) return names + characters * ESCAPED_BYTES;
  const isPlain = names + characters * PLAIN_BYTES <= FREE_BYTES && !issues.some(hasEscapes);
  return isPlain ? names + characters * PLAIN_BYTES : bytes + Buffer.byteLength(JSON.stringify(issues));
};

// A character has one to three bytes of UTF-8: what is small by any count need not be counted.
const jsonBytes = (json: string): number => (json.length * 3 <= FREE_BYTES ? json.length : Buffer.byteLength(json));

// What the names of its members take, a character that JSON writes as six, and any other in UTF-8.
const ISSUE_BYTES = 60;
const ESCAPED_BYTES = 6;
const PLAIN_BYTES = 3;
// Control characters, and halves of pairs that stand alone.
const ESCAPED = /[\p{Cc}\p{Cs}]/u;

const hasEscapes = ({ path, expected, received, message }: Issue): boolean =>
  ESCAPED.test(path) || ESCAPED.test(expected) || ESCAPED.test(received) || ESCAPED.test(message);

const countCharacters = (issues: readonly Issue[]): number => {
  let characters = 0;
  for (const { path, expected, received, message } of issues)
    characters += path.length + expected.length + received.length + message.length;
  return characters;
};

const overLimitText = (limitBytes: number): string =>
  `The results of this batch exceed ${limitBytes} bytes together, so this one is left out. Ask for less, or make fewer calls at once.`;

const NO_ROOM_TEXT =
  'The service has no memory left for this answer, so this result is left out. Call again later, and make fewer calls at once.';

const toTooLarge = (tool: Tool, message: string): CallOutcome =>
  failed(toFailure('output_too_large', `Tool '${tool.name}' ran. ${message}`, tool));

/** The end of a call that has ended so, without what does not fit into the answer. */
const toCut = (end: CallOutcome, tool: Tool, message: string): CallOutcome => {
  // Its code and its message say more than that there was not room for all of it.
  if (end.kind === 'failure') return failed({ ...end.failure, issues: [] });
  if (isSafe(tool)) return toTooLarge(tool, message);
  // What a write tool did cannot be undone by refusing its answer.
  return { ...end, valueJson: 'null', marks: ['truncated'], warnings: [{ code: 'output_too_large', message }] };
};

// Of more members the first say enough.
const MOST_MEMBERS = 32;

/** How long the JSON of a value is at least, as far as that can be told without running any code of its tool. */
export const leastLength = (value: unknown): number => {
  if (typeof value === 'string') return value.length;
  if (
    typeof value !== 'object' ||
    value === null ||
    types.isProxy(value) ||
    Object.getPrototypeOf(value) !== Object.prototype
  )
    return 0;
  let length = 0;
  for (const key of Object.keys(value).slice(0, MOST_MEMBERS)) {
    const member: unknown = Object.getOwnPropertyDescriptor(value, key)?.value;
    // It may write itself as something short.
    if (key === 'toJSON') return 0;
    if (typeof member === 'string') length += member.length;
  }
  return length;
};
