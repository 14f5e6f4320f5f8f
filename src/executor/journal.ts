import * as z from 'zod';
import { isRecord } from '../contract/json-record.ts';
import type { JsonSchema } from '../contract/tool-description.ts';
import { toCanonicalText, toDigest } from '../json/canonical-text.ts';
import { parseJson } from '../json/parse-json.ts';
import { onOneLine } from '../tools/describe-value.ts';
import { isSensitive, marksSensitive } from '../tools/json-schema.ts';
import { isSafe, type Tool } from '../tools/tool.ts';
import {
  type Batch,
  type Call,
  fingerprintOf,
  isReady,
  type ReadyCall,
  readArguments,
  toArgumentsJson,
} from './call.ts';
import { createEvent } from './call-event.ts';
import type { ToolInvoked } from './call-observer.ts';
import { effectIdOf } from './effect-id.ts';
import { MAX_REQUEST_ID } from './journal-entries.ts';
import type { Redactor } from './redactor.ts';
import type { JournalLine, RoundJournal, UnpackRound } from './session-store.ts';

// The lines of a session's journal. A round whose calls all went well and hide nothing is packed: its lines are rendered when
// the session is read. Those of any other round are rendered, and redacted, when it settles.

/** The journal of a round that settles; null where it gets no line. */
export const createRoundJournal = (batch: Batch, step: number): RoundJournal | null => {
  const { services, request } = batch;
  const { redactor, journal: most } = services;
  if (most === 0) return null;
  const head = { step, time: services.time(), requestId: request.requestId };
  const calls = batch.calls.filter(isWritten).slice(-most);
  if (calls.length === 0) return null;
  const packed = packRound(head, calls, request.body.source, redactor);
  const lines = packed === null ? renderLines(head, calls.map(describeCall), redactor) : null;
  return {
    lines: calls.length,
    refused: packed === null ? calls.length - 1 - calls.findLastIndex((call) => !isRefused(call)) : 0,
    render: () => lines ?? createUnpackRound(redactor)(packed ?? ''),
    pack: () => packed,
  };
};

const isRefused = ({ outcome, isAccepted }: Call): boolean =>
  !isAccepted && outcome?.kind === 'failure' && outcome.failure.outcome === 'refused';

// What an earlier try of the batch has written down is not written again.
const isWritten = (call: Call): boolean => call.storedResult === null || call.isAccepted;

type RoundHead = { readonly step: number /** Unix milliseconds. */; readonly time: number; readonly requestId: string };

/**
 * A round as stores keep it, in one line: its step, its time in Unix milliseconds, its request id, and its calls, which went
 * well and have nothing to hide: index, id, name, tool (null where it was called by that name), arguments as they were sent,
 * how many milliseconds it took, and, of a write, what its effect is known by.
 */
const PackedRound = z.tuple([
  z.int().nonnegative(),
  z.number(),
  z.string(),
  z.array(
    z.tuple([
      z.int().nonnegative(),
      z.union([z.string(), z.number()]).nullable(),
      z.string(),
      z.string().nullable(),
      z.unknown(),
      z.number(),
      z.string().optional(),
    ]),
  ),
]);
type PackedRound = z.infer<typeof PackedRound>;

// A store keeps no more of a round than about what its lines would take.
const [ROUND_BYTES, LINE_BYTES] = [428, 512] as const;

/** Null where something of the round is to be rendered and redacted at once. */
const packRound = (head: RoundHead, calls: readonly Call[], source: string, redactor: Redactor): string | null => {
  const most = ROUND_BYTES + LINE_BYTES * calls.length;
  if (source.length > most || !calls.every(isPlain)) return null;
  const packed: PackedRound = [head.step, head.time, head.requestId, calls.map(packCall)];
  // Its arguments are those that were read, so they are not nested too deep.
  const text = JSON.stringify(packed);
  return text.length > most || redactor.mayContainSecret(text) ? null : text;
};

/** Whether there is nothing to tell of a call but that it went well. */
const isPlain = (call: Call): boolean => {
  const { state, rawArguments } = call;
  const wentWell = state.kind === 'success' && state.executed === 'yes' && state.message === '';
  if (!wentWell || !isReady(call) || !readArguments(call).ok || toHiding(call.tool) !== null) return false;
  // In a text that holds JSON a secret may stand in escapes, where it would not be found.
  return typeof rawArguments !== 'string' || !rawArguments.includes('\\');
};

const packCall = (call: Call): PackedRound[3][number] => {
  const { index, id, name, budgetKey, rawArguments, durationMs } = call;
  const tool = name === null || budgetKey === name ? null : budgetKey;
  const tookMs = toHundredths(durationMs);
  const packed: PackedRound[3][number] = [index, id, name ?? budgetKey, tool, rawArguments ?? null, tookMs];
  const effectId = findEffectId(call);
  if (effectId !== null) packed.push(effectId);
  return packed;
};

/** What the effect of a call is known by; null: it had none. */
const findEffectId = (call: Call): string | null => {
  const { outcome } = call;
  if (!isReady(call) || isSafe(call.tool) || outcome === null || call.storedResult !== null) return null;
  const executed = outcome.kind === 'success' ? outcome.executed : outcome.failure.executed;
  return executed === 'no' ? null : effectIdOf(call);
};

/** The lines of rounds that were packed; none of a text that is no round, for another version may have written it. */
export const createUnpackRound =
  (redactor: Pick<Redactor, 'cut'>): UnpackRound =>
  (packed) => {
    const parsed = parseJson(packed);
    const read = parsed.ok ? PackedRound.safeParse(parsed.value) : null;
    if (read?.success !== true) return [];
    const [step, time, requestId, calls] = read.data;
    const facts = calls.map(([index, id, name, tool, sent, durationMs, effectId = null]): LineFacts => {
      const text = toArgumentsText(sent);
      const fingerprint = toDigest(`${tool ?? name}\n${text}`);
      const call = { index, id, name, kind: 'ready', tool: tool ?? name, durationMs } as const;
      return { ...call, sent: { text, fingerprint }, effectId, end: PLAIN_SUCCESS };
    });
    return renderLines({ step, time, requestId }, facts, redactor);
  };

/** RFC 8785 text of arguments that were read. */
const toArgumentsText = (sent: unknown): string => {
  if (sent === undefined || sent === null) return '{}';
  if (typeof sent !== 'string') return toCanonicalText(sent);
  const parsed = parseJson(sent.trim() === '' ? '{}' : sent);
  return parsed.ok ? toCanonicalText(parsed.value) : sent;
};

/** How a call ended, as its line tells it. */
type LineEnd = Pick<ToolInvoked, 'success' | 'executed' | 'code' | 'fault' | 'message' | 'replayed'> & {
  readonly outcome: ToolInvoked['outcome'];
};

const PLAIN_SUCCESS: LineEnd = {
  success: true,
  outcome: 'success',
  executed: 'yes',
  code: null,
  fault: null,
  message: '',
  replayed: false,
};

/** What a line tells of a call. */
type LineFacts = Pick<Call, 'index' | 'id' | 'name' | 'kind' | 'durationMs' | 'effectId'> & {
  /** The tool's own name, or the one for names that no tool has; null for a refused call that names none. */
  readonly tool: string | null;
  /** Canonical text without what is hidden, and SHA-256 of tool and whole text; null for a call that names no tool. */
  readonly sent: { readonly text: string; readonly fingerprint: string } | null;
  readonly end: LineEnd;
};

const describeCall = (call: Call): LineFacts => {
  const { index, id, name, kind, durationMs, tool, missingTool, budgetKey } = call;
  const shownTool = kind === 'refused' ? (tool?.name ?? missingTool) : budgetKey;
  const sent = isReady(call) ? { text: showArguments(call), fingerprint: fingerprintOf(call) } : null;
  return { index, id, name, kind, durationMs, tool: shownTool, sent, effectId: findEffectId(call), end: readEnd(call) };
};

// What comes of a pending call is written as what is late.
const PENDING: LineEnd = { ...PLAIN_SUCCESS, success: false, outcome: 'pending', executed: 'maybe' };
const JOINED: LineEnd = { ...PENDING, replayed: true };

const readEnd = (call: Call): LineEnd => {
  const { state } = call;
  if (state.kind === 'pending' || state.kind === 'ended') return state.by === 'this_batch' ? PENDING : JOINED;
  return createEvent(call);
};

const HIDDEN = '(hidden)';

/** The arguments of a call without what the schema marks sensitive; where they cannot be read, their text or nothing of it. */
export const showArguments = (call: ReadyCall): string => {
  if (toHiding(call.tool) === null) return toArgumentsJson(call);
  const parsed = readArguments(call);
  return parsed.ok ? toCanonicalText(hideSensitive(parsed.value, call.tool)) : HIDDEN;
};

/** Arguments without what the schema of their tool marks sensitive. */
export const hideSensitive = (input: unknown, tool: Tool): unknown => {
  const hiding = toHiding(tool);
  return hiding === null ? input : hideMembers(input, hiding, []);
};

const hidings = new WeakMap<Tool, JsonSchema | null>();

/** The schema of the tool, where it marks something as sensitive. */
const toHiding = (tool: Tool): JsonSchema | null => {
  let hiding = hidings.get(tool);
  if (hiding === undefined) {
    hiding = marksSensitive(tool.inputSchema) ? tool.inputSchema : null;
    hidings.set(tool, hiding);
  }
  return hiding;
};

// Recursive: arguments that were read are at most 64 levels deep.
const hideMembers = (value: unknown, schema: JsonSchema, path: readonly PropertyKey[]): unknown => {
  if (path.length > 0 && isSensitive(schema, path)) return HIDDEN;
  if (Array.isArray(value)) return value.map((item, place) => hideMembers(item, schema, [...path, place]));
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, hideMembers(member, schema, [...path, name])]),
  );
};

const MAX_NAME = 64;
const MAX_ID = 128;
const MAX_MESSAGE = 500;
const MAX_PREVIEW = 200;

type Cut = (text: string, limit: number) => string;

/**
 * The calls as the journal keeps them (`JournalEntry`), redacted; the store adds what is left of a tool's retries. Put
 * together by hand: a session that is read has hundreds of lines.
 */
const renderLines = (
  { step, time, requestId }: RoundHead,
  calls: readonly LineFacts[],
  redactor: Pick<Redactor, 'cut'>,
): readonly JournalLine[] => {
  const cut: Cut = (text, limit) => JSON.stringify(redactor.cut(text, limit, 'journal'));
  const head = `{"step":${step},"time":"${new Date(time).toISOString()}","request_id":${cut(requestId, MAX_REQUEST_ID)}`;
  return calls.map((call) => ({
    tool: call.kind === 'refused' ? null : call.tool,
    json: `${head},${renderCall(call, cut)},${renderEnd(call.end, cut)},"duration_ms":${toHundredths(call.durationMs)}${
      call.end.replayed ? ',"replayed":true' : ''
    }}`,
  }));
};

const renderCall = ({ index, id, name, kind, tool, sent, effectId }: LineFacts, cut: Cut): string => {
  // The name of a tool is no text that somebody made up.
  const shownName = kind === 'ready' || name === null ? JSON.stringify(name) : cut(onOneLine(name), MAX_NAME);
  const shown = sent === null ? '""' : cut(sent.text, MAX_PREVIEW);
  return (
    `"index":${index},"id":${renderId(id, cut)},"tool":${JSON.stringify(tool)},"name":${shownName},` +
    `"fingerprint":${JSON.stringify(sent?.fingerprint ?? null)},"arguments":${shown}` +
    (effectId === null ? '' : `,"effect_id":"${effectId}"`)
  );
};

const renderEnd = ({ success, outcome, executed, code, fault, message }: LineEnd, cut: Cut): string =>
  `"success":${success},"outcome":"${outcome}","executed":"${executed}","code":${JSON.stringify(code)},` +
  `"fault":${JSON.stringify(fault)},"message":${message === '' ? '""' : cut(message, MAX_MESSAGE)}`;

const renderId = (id: Call['id'], cut: Cut): string => {
  if (id === null) return 'null';
  const text = cut(String(id), MAX_ID);
  return text === `"${id}"` && typeof id === 'number' ? String(id) : text;
};

const toHundredths = (ms: number): number => Math.round(ms * 100) / 100;
