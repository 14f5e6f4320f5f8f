import * as z from 'zod';
import { EXECUTED, FAILURE_CODES, OUTCOMES } from '../contract/failure.ts';
import { toPortableName } from '../contract/portable-name.ts';
import { parseJson } from '../json/parse-json.ts';
import { isSafe } from '../tools/tool.ts';
import type { Call } from './call.ts';
import { type CallOutcome, failed } from './call-outcome.ts';
import { type Failure, toFailure } from './failure.ts';
import { echoName, notAuthorizedText, outcomeUnknownText } from './failure-text.ts';
import type { EarlierCall, ResultToKeep } from './keyed-store.ts';

/** What is read of a kept result; the rest of it is passed on as it is. */
const Kept = z.looseObject({
  /** That of its tool, also where it was called by another. */
  name: z.string().nullish(),
  message: z.string(),
  outcome: z.enum(OUTCOMES),
  executed: z.enum(EXECUTED),
  error: z.looseObject({ code: z.enum(FAILURE_CODES), type: z.string(), fatal: z.boolean() }).nullable(),
  replayed: z.literal(true).optional(),
});

/** What of a call an earlier try decides on. */
export type RestoredCall = Pick<Call, 'kind' | 'name' | 'tool' | 'refusal' | 'outcome' | 'storedResult' | 'withheld'>;

/**
 * Ends a call whose earlier try is on record: by its kept result, marked as a replay, or as one of which nobody knows how it
 * ended. Leaves it open where it runs now: it is safe to repeat. Another key of the tenant may have sent that try: who may
 * not use the tool learns nothing of it, nor of the other tools of that key, and changes nothing in the record.
 */
export const restoreEarlier = (call: RestoredCall, earlier: EarlierCall, mayUse: MayUse): void => {
  const kept = earlier.state === 'committed' ? readKept(earlier.result) : null;
  const withheld = toWithheld(kept, call, mayUse);
  if (withheld !== null) withhold(call, withheld);
  // It ran: what cannot be read any more is no reason to run it again.
  else if (kept !== null && earlier.state === 'committed') restoreKept(call, earlier.result, kept);
  // Only writes are marked: where its tool has gone or may not be used any more it was one.
  else if (earlier.state === 'committed' || call.tool === null || call.kind !== 'ready' || !isSafe(call.tool))
    endUnknown(call);
};

type MayUse = (tool: string) => boolean;

const toWithheld = (kept: Kept | null, call: RestoredCall, mayUse: MayUse): Failure | null => {
  if (call.kind === 'refused') return call.refusal?.code === 'not_authorized' ? call.refusal : null;
  if (mayUse(kept?.name ?? call.name ?? '')) return null;
  // Also the list of names that a wrong name is answered with is that of the key that sent it.
  if (call.kind === 'unknown_tool') return call.refusal;
  // Another tool gave it, that came to the same portable name.
  const isOthers = kept !== null && !TOOLLESS.has(kept.error?.code ?? '');
  return isOthers ? toFailure('not_authorized', notAuthorizedText(call.name ?? ''), call.tool) : null;
};

// Kept by a name that was asked for, and that no tool needs to have.
const TOOLLESS: ReadonlySet<string> = new Set(['unknown_tool', 'not_authorized']);

const withhold = (call: RestoredCall, failure: Failure): void => {
  call.outcome = failed(failure);
  call.withheld = true;
};

const endUnknown = (call: RestoredCall): void => {
  const tool = call.kind === 'ready' ? call.tool : null;
  call.outcome = failed(toFailure('outcome_unknown', outcomeUnknownText(call.name ?? 'a tool'), tool));
};

const readKept = (result: string): Kept | null => {
  const parsed = parseJson(result);
  return parsed.ok ? (Kept.safeParse(parsed.value).data ?? null) : null;
};

const restoreKept = (call: RestoredCall, result: string, kept: Kept): void => {
  const { name } = call;
  if (kept.error?.code === 'unknown_tool') {
    restoreWrongName(call, result, kept);
    return;
  }
  const isAlias = name !== null && name !== kept.name && toPortableName(name) === toPortableName(kept.name ?? '');
  replay(call, isAlias ? renameResult(result, name) : result, kept);
};

/** A result's text under another name. */
export const renameResult = (result: string, name: string): string => {
  const parsed: unknown = JSON.parse(result);
  return typeof parsed === 'object' && parsed !== null ? JSON.stringify({ ...parsed, name }) : result;
};

type Kept = z.infer<typeof Kept>;

const replay = (call: RestoredCall, result: string, kept: Kept): void => {
  call.outcome = toOutcome(kept);
  call.storedResult = kept.replayed === true ? result : `${result.slice(0, -1)},"replayed":true}`;
};

/** A wrong name was told the tools of the key that sent it, which may be more than those of the key that asks now. */
const restoreWrongName = (call: RestoredCall, result: string, kept: Kept): void => {
  const { refusal } = call;
  if (call.kind !== 'unknown_tool' || refusal === null) {
    const nameless = { ...kept, message: unknownThenText(call.name ?? '') };
    replay(call, JSON.stringify(nameless), nameless);
  } else if (tellsNoMore(kept, refusal)) replay(call, result, kept);
  else withhold(call, refusal);
};

const tellsNoMore = ({ message }: Kept, failure: Failure): boolean => {
  const rest = message.slice(failure.message.length);
  // What may follow is about retries, and not the rest of a name with a dot in it.
  return message.startsWith(failure.message) && (rest === '' || rest.startsWith(' '));
};

const unknownThenText = (name: string): string =>
  `Unknown tool: ${echoName(name)}. There was none of that name when this batch came first. Send the call in a new batch.`;

const toOutcome = ({ error, message, outcome, executed }: Kept): CallOutcome => {
  if (error === null) return { kind: 'success', valueJson: 'null', message, executed, marks: [], warnings: [] };
  const { code, type, fatal } = error;
  return failed(toFailure(code, message, null, { outcome, executed, type, fatal }));
};

/**
 * Whether the same key may run the call again: only where it never ran, and not by its own fault, or where it is safe
 * and was cut off because its caller had gone, who comes back with this key. What was not run because such a call
 * failed is as open as that one.
 */
export const toResultKinds = (calls: readonly Call[]): readonly ResultToKeep['kind'][] => {
  const repeatable = calls.map(({ outcome }) => outcome !== null && isRepeatable(outcome));
  const anyOpen = repeatable.includes(true);
  return calls.map(({ outcome }, place) => {
    const follows = outcome?.kind === 'failure' && outcome.failure.code === 'not_executed' && anyOpen;
    return repeatable[place] === true || follows ? 'repeatable' : 'final';
  });
};

const NEVER_RAN: ReadonlySet<string> = new Set([
  'overloaded',
  'shutting_down',
  'store_unavailable',
  'circuit_open',
  'cancelled',
  'tool_crashed',
]);

const isRepeatable = (ended: CallOutcome): boolean => {
  if (ended.kind === 'success') return false;
  const { code, executed, outcome } = ended.failure;
  return (executed === 'no' && NEVER_RAN.has(code)) || (code === 'cancelled' && outcome === 'retry');
};
