import { hash } from 'node:crypto';
import { FAILURE_POLICY } from '../contract/failure.ts';
import { isRecord } from '../contract/json-record.ts';
import { type Call, isReady, type ReadyCall, readArguments, toArgumentsJson } from './call.ts';
import type { CallOutcome } from './call-outcome.ts';
import { type AnswerMark, type CallEnding, type CallMark, type SettledCall, UNKNOWN_TOOL } from './session-store.ts';

/** Under which name the call's budget is kept and its numbers are labelled. */
export const bucketOf = ({ kind, tool, missingTool }: Call): string =>
  kind === 'unknown_tool' ? UNKNOWN_TOOL : (tool?.name ?? missingTool ?? UNKNOWN_TOOL);

/**
 * A call as its session sees it, when the round asks to be let in and when it settles: it reads the record of the call, and
 * works out what a store asks for when it is asked.
 */
export class RoundCall implements SettledCall, CallMark {
  readonly #call: Call;
  #print: number | null = null;

  constructor(call: Call) {
    this.#call = call;
  }

  get tool(): string {
    return bucketOf(this.#call);
  }

  get counts(): boolean {
    return isReady(this.#call) && readArguments(this.#call).ok;
  }

  get mark(): CallMark | null {
    return this.#call.kind === 'ready' ? this : null;
  }

  /** Arguments that cannot be read are named by their text. */
  get print(): number {
    this.#print ??= isReady(this.#call) ? toPrint(this.#call) : 0;
    return this.#print;
  }

  get ending(): CallEnding {
    const { outcome, accepted } = this.#call;
    return outcome === null || accepted !== null ? 'not_run' : toEnding(outcome);
  }

  get answer(): AnswerMark | null {
    const { outcome } = this.#call;
    if (outcome?.kind !== 'success') return null;
    return new AnswerOf(outcome.valueJson);
  }

  get executed(): boolean {
    const { outcome, accepted, isJoined } = this.#call;
    if (accepted !== null) return !isJoined;
    return outcome?.kind === 'success' || (outcome?.kind === 'failure' && outcome.failure.executed !== 'no');
  }
}

// A class: an object with a getter of its own is made by the runtime, slowly.
class AnswerOf implements AnswerMark {
  readonly #json: string;

  constructor(json: string) {
    this.#json = json;
  }

  get print(): number {
    return toTextPrint(this.#json);
  }
}

const toPrint = (call: ReadyCall): number => {
  const parsed = readArguments(call);
  return toCallPrint(call.tool.name, parsed.ok ? parsed.value : toArgumentsJson(call));
};

// Reasons a model owns: the same call would end the same way. A timeout, a crash or an upstream may be better next time.
const OWNED_CODES: ReadonlySet<string> = new Set([
  'invalid_arguments',
  'retry_requested',
  'tool_exception',
  'tool_failed',
]);

/** How a call ended, as limits and loop guard count it. */
const toEnding = (outcome: CallOutcome): CallEnding => {
  if (outcome.kind === 'success') return 'answered';
  const { code, executed } = outcome.failure;
  if (OWNED_CODES.has(code)) return 'failed';
  if (code === 'loop_detected') return 'looped';
  const isRefused = FAILURE_POLICY[code].outcome.safe === 'refused' || executed === 'no';
  return isRefused && FAILURE_POLICY[code].fault !== 'upstream' ? 'not_run' : 'other';
};

/**
 * A print of tool and arguments, 53 bits: the same for the same tool and JSON value, however its members are ordered and
 * its numbers written, and another one for any other value, as far as 53 bits can tell. The same in every
 * process and version, for sessions that processes share keep prints. Values are at most 64 levels deep. Where RFC 8785 has no text for a value (a lone surrogate)
 * the order of members does not count either.
 */
export const toCallPrint = (tool: string, value: unknown): number => {
  printValue(value);
  const valueHigh = high;
  const valueLow = low;
  printText(tool, NAME);
  mixPair(valueHigh, valueLow);
  return toNumber();
};

/**
 * A print of a text, 53 bits, the same everywhere likewise. Of a long text it is taken from SHA-256, which is the cheaper one there.
 */
export const toTextPrint = (text: string): number => {
  if (text.length > LONG_TEXT) return Number.parseInt(hash('sha256', text).slice(0, DIGITS), 16);
  printText(text, TEXT);
  return toNumber();
};

const LONG_TEXT = 4096;
// Hexadecimal ones of 52 bits.
const DIGITS = 13;

const toNumber = (): number => (high >>> 0) * LOW_BITS + (low >>> LOW_SHIFT);

// Arbitrary and fixed. Whoever makes two calls of one print stops nothing but calls of his own session.
const SEED_HIGH = 0x6a09e667;
const SEED_LOW = 0xbb67ae85;

// 32 bits of `high` and 21 of `low`.
const LOW_BITS = 2 ** 21;
const LOW_SHIFT = 11;

// What begins a value of each kind.
const TEXT = 1;
const NUMBER = 2;
const LIST = 3;
const MEMBERS = 4;
const NAME = 5;
const WORDS = { true: 6, false: 7, null: 8 } as const;

// The print of what was looked at last. Two variables: a pair for each value would cost more than printing it.
let high = 0;
let low = 0;

const printValue = (value: unknown): void => {
  if (typeof value === 'string') printText(value, TEXT);
  else if (typeof value === 'number') printNumber(value);
  else if (Array.isArray(value)) printList(value);
  else if (isRecord(value)) printMembers(value);
  else begin(value === true ? WORDS.true : value === false ? WORDS.false : WORDS.null);
};

const begin = (kind: number): void => {
  high = Math.imul(SEED_HIGH ^ kind, 0x9e3779b1);
  low = Math.imul(SEED_LOW ^ kind, 0x5f356495);
};

const printText = (text: string, kind: number): void => {
  let one = Math.imul(SEED_HIGH ^ kind, 0x9e3779b1);
  let other = Math.imul(SEED_LOW ^ kind, 0x5f356495);
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    one = Math.imul(one ^ code, 0x9e3779b1);
    other = Math.imul(other ^ code, 0x5f356495);
    // A product carries upwards only.
    one ^= one >>> 15;
    other ^= other >>> 13;
  }
  high = one;
  low = other;
  mixPair(text.length, kind);
};

const double = new Float64Array(1);
const halves = new Uint32Array(double.buffer);

const printNumber = (value: number): void => {
  // One text, "0", for both zeros.
  double[0] = value === 0 ? 0 : value;
  begin(NUMBER);
  mixPair(halves[0] ?? 0, halves[1] ?? 0);
};

const printList = (items: readonly unknown[]): void => {
  begin(LIST);
  let listHigh = high;
  let listLow = low;
  for (const item of items) {
    printValue(item);
    mixPair(listHigh, listLow);
    listHigh = high;
    listLow = low;
  }
  mixPair(items.length, LIST);
};

// A sum has no order. Each member is mixed with its name before it is added, so that no two can trade places.
const printMembers = (members: Readonly<Record<string, unknown>>): void => {
  const names = Object.keys(members);
  let sumHigh = 0;
  let sumLow = 0;
  for (const name of names) {
    printValue(members[name]);
    const valueHigh = high;
    const valueLow = low;
    printText(name, NAME);
    mixPair(valueHigh, valueLow);
    sumHigh = (sumHigh + high) | 0;
    sumLow = (sumLow + low) | 0;
  }
  begin(MEMBERS);
  mixPair(sumHigh, sumLow);
  mixPair(names.length, MEMBERS);
};

/** Mixes two more words into the print. */
const mixPair = (one: number, other: number): void => {
  const first = Math.imul(high ^ one, 0x85ebca6b) ^ Math.imul(low ^ (low >>> 16), 0xc2b2ae35);
  const second = Math.imul(low ^ other, 0x27d4eb2f) ^ Math.imul(high ^ (high >>> 15), 0x165667b1);
  high = Math.imul(first ^ (first >>> 13), 0xc2b2ae35) ^ (second >>> 16);
  low = Math.imul(second ^ (second >>> 16), 0x9e3779b1) ^ (first >>> 15);
};
