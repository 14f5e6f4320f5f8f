import { FAILURE_POLICY } from '../contract/failure.ts';
import { toCallHash, toTextHash } from '../json/value-hash.ts';
import { type Call, isReady, type ReadyCall, readArguments, toArgumentsJson } from './call.ts';
import type { CallOutcome } from './call-outcome.ts';
import type { CallEnd, SettledCall } from './session-store.ts';

/**
 * A call as its session sees it, when the round asks to be let in and when it settles. It reads the record of the call, and
 * computes a hash when a store asks for it.
 */
export class RoundCall implements SettledCall {
  readonly #call: Call;
  #hash: number | null = null;

  constructor(call: Call) {
    this.#call = call;
  }

  get tool(): string {
    return this.#call.budgetKey;
  }

  get counts(): boolean {
    return isReady(this.#call) && readArguments(this.#call).ok;
  }

  /** Arguments that cannot be read are named by their text. */
  get callHash(): number | null {
    const call = this.#call;
    if (!isReady(call)) return null;
    this.#hash ??= hashCall(call);
    return this.#hash;
  }

  get callEnd(): CallEnd {
    const { outcome, isAccepted } = this.#call;
    return outcome === null || isAccepted ? 'not_run' : classifyEnding(outcome);
  }

  get resultHash(): number | null {
    const { outcome } = this.#call;
    return outcome?.kind === 'success' ? toTextHash(outcome.valueJson) : null;
  }

  get executed(): boolean {
    const { outcome, state } = this.#call;
    if (state.kind === 'pending' || state.kind === 'ended') return state.by === 'this_batch';
    return outcome?.kind === 'success' || (outcome?.kind === 'failure' && outcome.failure.executed !== 'no');
  }
}

const hashCall = (call: ReadyCall): number => {
  const parsed = readArguments(call);
  return toCallHash(call.tool.name, parsed.ok ? parsed.value : toArgumentsJson(call));
};

// Reasons a model owns: the same call would end the same way. A timeout, a crash or an upstream may be better next time.
const OWNED_CODES: ReadonlySet<string> = new Set([
  'invalid_arguments',
  'retry_requested',
  'tool_exception',
  'tool_failed',
]);

/** How a call ended, as limits and loop guard count it. */
const classifyEnding = (outcome: CallOutcome): CallEnd => {
  if (outcome.kind === 'success') return 'answered';
  const { code, executed } = outcome.failure;
  if (OWNED_CODES.has(code)) return 'failed';
  if (code === 'loop_detected') return 'looped';
  const isRefused = FAILURE_POLICY[code].outcome.safe === 'refused' || executed === 'no';
  return isRefused && FAILURE_POLICY[code].fault !== 'upstream' ? 'not_run' : 'other';
};
