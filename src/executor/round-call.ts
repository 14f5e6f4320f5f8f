import { FAILURE_POLICY } from '../contract/failure.ts';
import { toCallHash, toTextHash } from '../json/value-hash.ts';
import { type Call, isReady, type ReadyCall, readArguments, toArgumentsJson } from './call.ts';
import type { CallOutcome } from './call-outcome.ts';
import { type CallEnding, type SettledCall, UNKNOWN_TOOL } from './session-store.ts';

/** Under which name the call's budget is kept and its numbers are labelled. */
export const bucketOf = ({ kind, tool, missingTool }: Call): string =>
  kind === 'unknown_tool' ? UNKNOWN_TOOL : (tool?.name ?? missingTool ?? UNKNOWN_TOOL);

/**
 * A call as its session sees it, when the round asks to be let in and when it settles: it reads the record of the call, and
 * works out what a store asks for when it is asked.
 */
export class RoundCall implements SettledCall {
  readonly #call: Call;
  #hash: number | null = null;

  constructor(call: Call) {
    this.#call = call;
  }

  get tool(): string {
    return bucketOf(this.#call);
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

  get ending(): CallEnding {
    const { outcome, accepted } = this.#call;
    return outcome === null || accepted !== null ? 'not_run' : toEnding(outcome);
  }

  get resultHash(): number | null {
    const { outcome } = this.#call;
    return outcome?.kind === 'success' ? toTextHash(outcome.valueJson) : null;
  }

  get executed(): boolean {
    const { outcome, accepted, isJoined } = this.#call;
    if (accepted !== null) return !isJoined;
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
const toEnding = (outcome: CallOutcome): CallEnding => {
  if (outcome.kind === 'success') return 'answered';
  const { code, executed } = outcome.failure;
  if (OWNED_CODES.has(code)) return 'failed';
  if (code === 'loop_detected') return 'looped';
  const isRefused = FAILURE_POLICY[code].outcome.safe === 'refused' || executed === 'no';
  return isRefused && FAILURE_POLICY[code].fault !== 'upstream' ? 'not_run' : 'other';
};
