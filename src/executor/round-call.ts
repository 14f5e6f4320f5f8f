import { FAILURE_POLICY } from '../contract/failure.ts';
import { type Call, isReady } from './call.ts';
import { readArguments, toArgumentsJson } from './call-arguments.ts';
import type { CallOutcome } from './call-outcome.ts';
import { toCallPrint, toTextPrint } from './call-print.ts';
import { type AnswerMark, type CallEnding, type CallMark, type SettledCall, UNKNOWN_TOOL } from './session-store.ts';

/** Under which name the call's budget is kept and its numbers are labelled. */
export const bucketOf = ({ kind, tool }: Call): string =>
  kind === 'unknown_tool' || tool === null ? UNKNOWN_TOOL : tool.name;

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
    this.#print ??= toPrint(this.#call);
    return this.#print;
  }

  get ending(): CallEnding {
    const { outcome } = this.#call;
    return outcome === null ? 'not_run' : toEnding(outcome);
  }

  get answer(): AnswerMark | null {
    const { outcome } = this.#call;
    return outcome?.kind === 'success' ? new TextMark(outcome.valueJson) : null;
  }

  get executed(): boolean {
    const { outcome } = this.#call;
    return outcome?.kind === 'success' || (outcome?.kind === 'failure' && outcome.failure.executed !== 'no');
  }
}

/** What two equal answers have in common. */
class TextMark implements AnswerMark {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  get print(): number {
    return toTextPrint(this.#text);
  }
}

const toPrint = (call: Call): number => {
  if (!isReady(call)) return 0;
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
