import type { Executed, FailureCode, Fault, Outcome } from '../contract/failure.ts';
import { isRecord } from '../contract/json-record.ts';
import { readCallId, readCallName } from '../contract/tool-call.ts';
import type { JsonSchema } from '../contract/tool-description.ts';
import { toCanonicalText, toDigest } from '../json/canonical-text.ts';
import { parseJson } from '../json/parse-json.ts';
import { onOneLine } from '../tools/describe-value.ts';
import { isSensitive, marksSensitive } from '../tools/json-schema.ts';
import type { Tool } from '../tools/tool.ts';
import { MAX_REQUEST_ID } from './journal-entries.ts';
import type { JournalLine } from './session-store.ts';

/** An entry of a batch as it was sent. */
export type BatchEntry = {
  readonly id: string | number | null;
  readonly name: string | null;
  readonly rawArguments: unknown;
};

/** Arguments of a call that names a tool: RFC 8785 text or the text that cannot be read, and SHA-256 of tool and text. */
export type ArgumentsText = { readonly text: string; readonly fingerprint: string };

/** What a batch knows of its entries while it settles: rendered then, a line costs no second reading. */
export type BatchEntries = {
  readonly size: number;
  /** An entry with its arguments as they are read. */
  readonly entryOf: (index: number) => BatchEntry;
  /** null unless the entry is a call that names a tool. */
  readonly argumentsOf: (index: number) => ArgumentsText | null;
};

/** How a call ended, as its line tells it. */
export type JournalEnd = {
  readonly success: boolean;
  readonly outcome: Outcome;
  readonly executed: Executed;
  readonly code: FailureCode | null;
  readonly fault: Fault | null;
  readonly message: string;
  readonly replayed: boolean;
};

/** The end of a call of which there is nothing to tell but that it went well: one for all of them. */
export const PLAIN_SUCCESS: JournalEnd = {
  success: true,
  outcome: 'success',
  executed: 'yes',
  code: null,
  fault: null,
  message: '',
  replayed: false,
};

/** What a line tells of a call, beside what was sent. */
export type JournalCall = {
  readonly index: number;
  readonly kind: 'ready' | 'unknown_tool' | 'refused';
  /** The tool's own name, or the one for names that no tool has; null for a refused call that names none. */
  readonly tool: string | null;
  /** Whether its arguments are an object that can be read. */
  readonly readable: boolean;
  /** The schema of its arguments where that marks some as sensitive. */
  readonly hiding: JsonSchema | null;
  readonly end: JournalEnd;
  readonly durationMs: number;
};

type PlainTool = Omit<JournalCall, 'index' | 'durationMs'>;

// One record for all calls of a tool.
const plainTools = new WeakMap<Tool, PlainTool>();

const toPlainTool = (tool: Tool): PlainTool => {
  const hiding = toHiding(tool.inputSchema);
  const plain: PlainTool = { kind: 'ready', tool: tool.name, readable: true, hiding, end: PLAIN_SUCCESS };
  plainTools.set(tool, plain);
  return plain;
};

/**
 * The calls of a round that were all read, ran and went well, from its first entry to its last: all but every round. A call
 * takes a number and a reference, where a record of its own would take five times as much for as long as the journal lives.
 */
export class PlainCalls {
  readonly #tools: readonly PlainTool[];
  readonly #durations: readonly number[];

  // By `map`: arrays that grow keep room for 16 more, which is most of what a small round takes.
  constructor(calls: readonly { readonly tool: Tool; readonly durationMs: number }[]) {
    this.#tools = calls.map(({ tool }) => plainTools.get(tool) ?? toPlainTool(tool));
    this.#durations = calls.map(({ durationMs }) => durationMs);
  }

  get length(): number {
    return this.#tools.length;
  }

  toList(): readonly JournalCall[] {
    return this.#tools.map((tool, index) => ({ ...tool, index, durationMs: this.#durations[index] ?? 0 }));
  }
}

/** Those of a round that get a line, in the order of the batch; at least one. */
export type JournalCalls = readonly JournalCall[] | PlainCalls;

export const toList = (calls: JournalCalls): readonly JournalCall[] =>
  calls instanceof PlainCalls ? calls.toList() : calls;

/** The entry that a value is read as, whatever it is. */
export const toBatchEntry = (entry: unknown): BatchEntry => {
  if (!isRecord(entry)) return { id: null, name: null, rawArguments: undefined };
  const { id, name, arguments: rawArguments } = entry;
  return { id: readCallId(id), name: readCallName(name), rawArguments };
};

/** The entries of a body: those of its member `calls`. */
export const readEntries = (body: string): readonly unknown[] => {
  const parsed = parseJson(body);
  const calls = parsed.ok && isRecord(parsed.value) ? parsed.value['calls'] : null;
  return Array.isArray(calls) ? calls : [];
};

/** Entries of which only what was sent is left: their arguments are read again. */
export const toEntries = (
  size: number,
  entryOf: BatchEntries['entryOf'],
  calls: readonly JournalCall[],
): BatchEntries => {
  const callOf = new Map(calls.map((call) => [call.index, call]));
  const argumentsOf = (index: number): ArgumentsText | null => {
    const call = callOf.get(index);
    if (call?.kind !== 'ready') return null;
    const text = toArgumentsText(entryOf(index).rawArguments, call.readable);
    return { text, fingerprint: toDigest(`${call.tool}\n${text}`) };
  };
  return { size, entryOf, argumentsOf };
};

/** RFC 8785 text of arguments; the raw text where they are not `readable`. */
export const toArgumentsText = (raw: unknown, readable: boolean): string => {
  if (raw === undefined || raw === null) return '{}';
  if (typeof raw !== 'string') return toCanonicalText(raw);
  if (!readable) return raw;
  const parsed = parseJson(raw.trim() === '' ? '{}' : raw);
  return parsed.ok ? toCanonicalText(parsed.value) : raw;
};

const HIDDEN = '(hidden)';

/** Arguments, given as canonical text or as the text that cannot be read, without what `hiding` marks sensitive. */
export const hideSensitive = (
  text: string,
  { hiding, readable }: { readonly hiding: JsonSchema | null; readonly readable: boolean },
): string => {
  if (hiding === null) return text;
  const parsed = parseJson(text);
  return readable && parsed.ok ? toCanonicalText(hideMembers(parsed.value, hiding, [])) : HIDDEN;
};

/** The schema, where it marks something as sensitive. */
export const toHiding = (schema: JsonSchema): JsonSchema | null => (marksSensitive(schema) ? schema : null);

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

/** A round that gets lines in the journal. */
export type JournalRound = {
  readonly step: number;
  /** Unix milliseconds. */
  readonly time: number;
  readonly requestId: string;
  readonly calls: JournalCalls;
  /** Gives a text's first `limit` characters without secrets. */
  readonly redactor: { readonly cut: (text: string, limit: number, place: 'journal') => string };
};

/**
 * The calls as the journal keeps them (`JournalEntry`), redacted; the store adds what is left of a tool's retries. Put
 * together by hand: a session that is read has hundreds of lines.
 */
export const toLines = (
  { step, time, requestId, calls, redactor }: JournalRound,
  entries: BatchEntries,
): readonly JournalLine[] => {
  const cut: Cut = (text, limit) => JSON.stringify(redactor.cut(text, limit, 'journal'));
  const head = `{"step":${step},"time":"${new Date(time).toISOString()}","request_id":${cut(requestId, MAX_REQUEST_ID)}`;
  return toList(calls).map((call) => {
    const sent = `${toEntryText(call, entries.entryOf(call.index), cut)},${toSentText(call, entries.argumentsOf(call.index), cut)}`;
    const json = `${head},${sent},${toEndText(call.end, cut)},"duration_ms":${toHundredths(call.durationMs)}${call.end.replayed ? ',"replayed":true' : ''}}`;
    return { tool: call.kind === 'refused' ? null : call.tool, json };
  });
};

type Cut = (text: string, limit: number) => string;

// The name of a tool is no text that somebody made up.
const toEntryText = ({ index, kind, tool }: JournalCall, { id, name }: BatchEntry, cut: Cut): string =>
  `"index":${index},"id":${toIdText(id, cut)},"tool":${JSON.stringify(tool)},"name":${
    kind === 'ready' || name === null ? JSON.stringify(name) : cut(onOneLine(name), MAX_NAME)
  }`;

const toSentText = (call: JournalCall, sent: ArgumentsText | null, cut: Cut): string =>
  sent === null
    ? '"fingerprint":null,"arguments":""'
    : `"fingerprint":"${sent.fingerprint}","arguments":${cut(hideSensitive(sent.text, call), MAX_PREVIEW)}`;

const toEndText = ({ success, outcome, executed, code, fault, message }: JournalEnd, cut: Cut): string =>
  `"success":${success},"outcome":"${outcome}","executed":"${executed}","code":${JSON.stringify(code)},` +
  `"fault":${JSON.stringify(fault)},"message":${message === '' ? '""' : cut(message, MAX_MESSAGE)}`;

const toIdText = (id: BatchEntry['id'], cut: Cut): string => {
  if (id === null) return 'null';
  const text = cut(String(id), MAX_ID);
  return text === `"${id}"` && typeof id === 'number' ? String(id) : text;
};

export const toHundredths = (ms: number): number => Math.round(ms * 100) / 100;
