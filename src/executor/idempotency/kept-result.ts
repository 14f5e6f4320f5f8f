import * as z from 'zod';
import { EXECUTED, FAILURE_CODES, OUTCOMES } from '../../contract/failure.ts';
import { toPortableName } from '../../contract/portable-name.ts';
import { isSafe } from '../../tools/tool.ts';
import { type CallEnd, failed, type RanCall, unstarted } from '../call-end.ts';
import { type Failure, toFailure } from '../failure.ts';
import { echoName, notAuthorizedText, outcomeUnknownText } from '../failure-text.ts';
import { parseJson } from '../parse-json.ts';
import type { ResolvedCall } from '../resolve-call.ts';
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

/**
 * The end of a call whose earlier try is on record: its kept result, marked as a replay, or that nobody knows. Null
 * where the call runs now: it is safe to repeat. Another key of the tenant may have sent that try: who may not use the
 * tool learns nothing of it, nor of the other tools of that key, and changes nothing in the record.
 */
export const toEarlierEnd = (earlier: EarlierCall, call: ResolvedCall, mayUse: MayUse): RanCall | null => {
  const kept = earlier.state === 'committed' ? readKept(earlier.result) : null;
  const withheld = toWithheld(kept, call, mayUse);
  if (withheld !== null) return withhold(withheld);
  // It ran: what cannot be read any more is no reason to run it again.
  if (earlier.state === 'committed') return kept === null ? toUnknownEnd(call) : toKeptEnd(earlier.result, kept, call);
  // Only writes are marked: where its tool has gone or may not be used any more it was one.
  return call.kind === 'ready' && isSafe(call.tool) ? null : toUnknownEnd(call);
};

type MayUse = (tool: string) => boolean;

const toWithheld = (kept: Kept | null, call: ResolvedCall, mayUse: MayUse): Failure | null => {
  if (call.kind === 'refused') return call.failure.code === 'not_authorized' ? call.failure : null;
  if (mayUse(kept?.name ?? call.name ?? '')) return null;
  // Also the list of names that a wrong name is answered with is that of the key that sent it.
  if (call.kind === 'unknown_tool') return call.failure;
  // Another tool gave it, that came to the same portable name.
  const isOthers = kept !== null && !TOOLLESS.has(kept.error?.code ?? '');
  return isOthers ? toFailure('not_authorized', notAuthorizedText(call.name ?? ''), call.tool) : null;
};

// Kept by a name that was asked for, and that no tool needs to have.
const TOOLLESS: ReadonlySet<string> = new Set(['unknown_tool', 'not_authorized']);

const withhold = (failure: Failure): RanCall => ({ ...unstarted(failure), withheld: true });

const toUnknownEnd = (call: ResolvedCall): RanCall => {
  const tool = call.kind === 'ready' ? call.tool : null;
  return unstarted(toFailure('outcome_unknown', outcomeUnknownText(call.name ?? 'a tool'), tool));
};

const readKept = (result: string): Kept | null => {
  const parsed = parseJson(result);
  return parsed.ok ? (Kept.safeParse(parsed.value).data ?? null) : null;
};

const toKeptEnd = (result: string, kept: Kept, call: ResolvedCall): RanCall => {
  const { name } = call;
  if (kept.error?.code === 'unknown_tool') return toWrongName(result, kept, call);
  const isAlias = name !== null && name !== kept.name && toPortableName(name) === toPortableName(kept.name ?? '');
  return replay(isAlias ? renameResult(result, name) : result, kept);
};

/** A result's text under another name. */
export const renameResult = (result: string, name: string): string => {
  const parsed: unknown = JSON.parse(result);
  return typeof parsed === 'object' && parsed !== null ? JSON.stringify({ ...parsed, name }) : result;
};

type Kept = z.infer<typeof Kept>;

const replay = (result: string, kept: Kept): RanCall => {
  const json = kept.replayed === true ? result : `${result.slice(0, -1)},"replayed":true}`;
  return { end: toEnd(kept), durationMs: 0, late: null, kept: json };
};

/** A wrong name was told the tools of the key that sent it, which may be more than those of the key that asks now. */
const toWrongName = (result: string, kept: Kept, call: ResolvedCall): RanCall => {
  if (call.kind === 'unknown_tool')
    return tellsNoMore(kept, call.failure) ? replay(result, kept) : withhold(call.failure);
  const nameless = { ...kept, message: unknownThenText(call.name ?? '') };
  return replay(JSON.stringify(nameless), nameless);
};

const tellsNoMore = ({ message }: Kept, failure: Failure): boolean => {
  const rest = message.slice(failure.message.length);
  // What may follow is about retries, and not the rest of a name with a dot in it.
  return message.startsWith(failure.message) && (rest === '' || rest.startsWith(' '));
};

const unknownThenText = (name: string): string =>
  `Unknown tool: ${echoName(name)}. There was none of that name when this batch came first. Send the call in a new batch.`;

const toEnd = ({ error, message, outcome, executed }: Kept): CallEnd => {
  if (error === null) return { kind: 'success', valueJson: 'null', message, executed, marks: [], warnings: [] };
  const { code, type, fatal } = error;
  return failed(toFailure(code, message, null, { outcome, executed, type, fatal }));
};

/**
 * Whether the same key may run the call again: only where it never ran, and not by its own fault, or where it is safe
 * and was cut off because its caller had gone, who comes back with this key. What was not run because such a call
 * failed is as open as that one.
 */
export const toResultKinds = (ends: readonly CallEnd[]): readonly ResultToKeep['kind'][] => {
  const repeatable = ends.map(isRepeatable);
  const anyOpen = repeatable.includes(true);
  return ends.map((end, place) => {
    const follows = end.kind === 'failure' && end.failure.code === 'not_executed' && anyOpen;
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

const isRepeatable = (end: CallEnd): boolean => {
  if (end.kind === 'success') return false;
  const { code, executed, outcome } = end.failure;
  return (executed === 'no' && NEVER_RAN.has(code)) || (code === 'cancelled' && outcome === 'retry');
};
