import * as z from 'zod';
import { EXECUTED, FAILURE_CODES, OUTCOMES } from '../contract/failure.ts';
import type { RenderedResult, Warning } from '../contract/tool-result.ts';
import { parseJson } from '../json/parse-json.ts';
import type { Call } from './call.ts';
import { type CallOutcome, failed, toFailure } from './call-outcome.ts';
import { INTERNAL_ERROR_TEXT } from './failure-text.ts';
import type { AcceptedCall, CallState } from './pending-calls.ts';

// Results that were rendered before: by an earlier try of the batch, or by the run of a pending call.

/** What is read of a kept result; the rest of it is passed on as it is. */
const Kept = z.looseObject({
  /** That of its tool, also where it was called by another. */
  name: z.string().nullish(),
  message: z.string(),
  outcome: z.enum(OUTCOMES),
  executed: z.enum(EXECUTED),
  error: z.looseObject({ code: z.enum(FAILURE_CODES), type: z.string(), fatal: z.boolean() }).nullable(),
  replayed: z.literal(true).optional(),
  pending: z.object({ call: z.string() }).optional(),
});

export type Kept = z.infer<typeof Kept>;

export const readKept = (result: string): Kept | null => {
  const parsed = parseJson(result);
  return parsed.ok ? (Kept.safeParse(parsed.value).data ?? null) : null;
};

export const toOutcome = ({ error, message, outcome, executed }: Kept): CallOutcome => {
  if (error === null) return { kind: 'success', valueJson: 'null', message, executed, marks: [], warnings: [] };
  const { code, type, fatal } = error;
  return failed(toFailure(code, message, null, { outcome, executed, type, fatal }));
};

/** The handle in a result that was pending when it was kept; null in any other. Only what such a result holds is worth parsing. */
export const readHandle = (result: string): string | null =>
  result.includes('"outcome":"pending"') ? (readKept(result)?.pending?.call ?? null) : null;

/** A result as it was kept. */
export const readResult = (json: string): RenderedResult => ({ json, handle: readHandle(json), plainValueJson: null });

/** Ends a call by the result that its own run has committed, wherever it ran. */
const endByResult = (call: Call, result: string): void => {
  const kept = readKept(result);
  call.storedResult = result;
  call.outcome = kept === null ? failed(toFailure('internal_error', INTERNAL_ERROR_TEXT, call.tool)) : toOutcome(kept);
};

/** Makes of a call the pending one that it is. */
export const setAccepted = (call: Call, accepted: AcceptedCall, how: 'joined' | 'new'): void => {
  call.accepted = accepted;
  call.isJoined = how === 'joined';
  call.batch.hasAccepted = true;
  setState(call, accepted.state);
};

/** How a pending call stands now. */
export const setState = (call: Call, state: CallState): void => {
  call.acceptedState = state;
  if (state.kind === 'ended') endByResult(call, state.result);
};

/** Says something more on results that were rendered: for the rare case that it is known only then. */
export const warn = (calls: readonly Call[], warning: Warning): void => {
  for (const call of calls) {
    const { json, handle } = call.result;
    call.result = { json: withWarning(json, warning), handle, plainValueJson: null };
  }
};

const withWarning = (result: string, warning: Warning): string => {
  const parsed: { readonly warnings?: readonly Warning[] } = JSON.parse(result);
  return JSON.stringify({ ...parsed, warnings: [...(parsed.warnings ?? []), warning] });
};
