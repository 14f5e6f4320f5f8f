import { type Effects, EXECUTED } from 'recourse-server/contract/failure';
import { Issue, Warning } from 'recourse-server/contract/tool-result';
import type { Purpose } from 'recourse-server/executor/deadline';
import { parseJson } from 'recourse-server/json/parse-json';
import * as z from 'zod';

/** What a handler reads of its call, and how its answer is made. */
export type CallTerms = {
  readonly session: string | null;
  readonly tenant: string | null;
  readonly caller: string | null;
  readonly callId: string | number | null;
  readonly retriesLeft: number;
  readonly timeoutMs: number;
  readonly idempotencyKey: string | null;
  readonly effectId: string;
  readonly traceparent: string | null;
  readonly graceful: 'on' | 'off';
  readonly purpose: Purpose;
  /** It is a write that is looked for: its host ends over it, for that it did not happen is believed after its time limit. */
  readonly isSought: boolean;
};

/** What the service says to a host. The body carries sources (load) or the call's arguments (call). */
export type HostOrder =
  /** The first of all. */
  | { readonly type: 'start'; readonly nonce: string; readonly maxResultBytes: number }
  | {
      readonly type: 'load';
      readonly nonce: string;
      /** Names this version of the file in calls. */
      readonly version: string;
      /** Absolute paths. */
      readonly path: string;
      readonly root: string;
      /** Names the sources, which the body holds where this host has not been sent them before. */
      readonly sources: string;
      /** Whether other files may run in this host afterwards. */
      readonly placing: 'shared' | 'own';
    }
  /** No call of this version will come any more. */
  | { readonly type: 'unload'; readonly version: string }
  | {
      readonly type: 'call';
      readonly nonce: string;
      readonly version: string;
      /** A moment of the system's monotonic clock, in milliseconds, after which the call must not begin; null = none. */
      readonly beginBy: number | null;
      readonly role: 'tool' | 'reducer';
      readonly tool: string;
      /** Of the service's tool: its operator may have said otherwise than the file. */
      readonly effects: Effects;
      /** Whether the caller watches its parts. */
      readonly parts: 'shown' | 'dropped';
      readonly terms: CallTerms;
    }
  | { readonly type: 'abort'; readonly nonce: string; readonly reason: 'TimeoutError' | 'AbortError' }
  /** Its tools are to end what they hold; it is ended as soon as it says so. */
  | { readonly type: 'release' }
  /** To be answered at once: a host whose event loop is blocked does not. */
  | { readonly type: 'ping'; readonly nonce: string };

// Taken from it here, before a tool's code could put its own in its place.
const { hrtime } = process;

/** The system's monotonic clock, the same in all processes, in milliseconds. */
export const readMonotonicMs = (): number => Number(hrtime.bigint()) / 1_000_000;

/** One link of an exception's cause chain. */
const ThrownPart = z.object({ name: z.string().max(8000), message: z.string().max(8000), stack: z.string().max(8000) });
export type ThrownPart = Readonly<z.infer<typeof ThrownPart>>;
const Thrown = z.array(ThrownPart).max(8);

// What can come of a call inside a host. Whatever else a code says is for the service to say.
export const HOST_CODES = [
  'invalid_arguments',
  'retry_requested',
  'tool_failed',
  'tool_exception',
  'invalid_output',
  'output_too_large',
  'upstream_rate_limited',
  'upstream_unavailable',
] as const;

const MAX_TEXT = 8000;

const HostEnd = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('success'),
    message: z.string().max(MAX_TEXT),
    marks: z.array(z.enum(['empty', 'truncated'])).max(2),
    warnings: z.array(Warning).max(4),
  }),
  z.object({
    kind: z.literal('failure'),
    code: z.enum(HOST_CODES),
    // With the hint at its end, and of both what redaction needs beyond their limits.
    message: z
      .string()
      .min(1)
      .max(2 * MAX_TEXT),
    type: z.string().max(100),
    hint: z.string().max(MAX_TEXT).nullable(),
    issues: z.array(Issue).max(100),
    issueCount: z.int().nonnegative().default(0),
    retryAfterMs: z.number().nonnegative().nullable(),
    fatal: z.boolean(),
    outcome: z.enum(['retry', 'failed', 'unknown']),
    executed: z.enum(EXECUTED),
    thrown: Thrown,
  }),
]);
export type HostEnd = z.infer<typeof HostEnd>;

/** What goes on in a host although no call runs; `version`: of the file that it is assigned to. */
const PendingWork = z.object({ version: z.string().max(100), reason: z.string().max(MAX_TEXT) });
export type PendingWork = Readonly<z.infer<typeof PendingWork>>;

/**
 * What a host says to the service. The body carries descriptions (loaded), what was thrown (load_failed), the value as JSON text (answer) or a log
 * line's fields. Everything here may be forged by a tool's code: it is checked, and bound to a call by its nonce.
 */
export const HostMessage = z.discriminatedUnion('type', [
  /** The process is up. */
  z.object({ type: z.literal('ready'), nonce: z.string() }),
  /** A file begins to load: its time counts from here. */
  z.object({ type: z.literal('loading'), nonce: z.string() }),
  /** `trace`: what loading it left behind that other files would meet. */
  z.object({ type: z.literal('loaded'), nonce: z.string(), trace: z.string().max(MAX_TEXT).nullable() }),
  z.object({ type: z.literal('load_failed'), nonce: z.string(), reason: z.string().max(MAX_TEXT) }),
  /** The load or the call under this nonce has not begun and will not begin here. */
  z.object({ type: z.literal('refused'), nonce: z.string() }),
  /** From here on the handler may have run. */
  z.object({ type: z.literal('began'), nonce: z.string() }),
  z.object({ type: z.literal('answer'), nonce: z.string(), end: HostEnd }),
  z.object({
    type: z.literal('log'),
    nonce: z.string(),
    level: z.enum(['debug', 'info', 'warn', 'error']),
    message: z.string().max(MAX_TEXT),
  }),
  z.object({
    type: z.literal('progress'),
    nonce: z.string(),
    progress: z.number(),
    total: z.number().optional(),
    message: z.string().max(MAX_TEXT).optional(),
  }),
  /** Shown to who watches the call; the body is its JSON text. */
  z.object({ type: z.literal('part'), nonce: z.string() }),
  /** Code of a call has changed what others share: no further call begins in this host. */
  z.object({ type: z.literal('unusable'), nonce: z.string(), reason: z.string().max(MAX_TEXT) }),
  /** No call runs, and something of theirs goes on: no other file may run here before it has ended, which is `null`. */
  z.object({ type: z.literal('pending'), nonce: z.string(), work: PendingWork.nullable() }),
  /** Tools hold something that is to be ended in order; they have ended it. */
  z.object({ type: z.literal('resources'), nonce: z.string(), state: z.enum(['held', 'released']) }),
  /** Code of this call is about to end the process. */
  z.object({ type: z.literal('leaving'), nonce: z.string() }),
  z.object({ type: z.literal('pong'), nonce: z.string() }),
  /** Something was thrown or rejected outside of a call; `nonce`: by what the call with it had started. */
  z.object({ type: z.literal('stray'), nonce: z.string(), thrown: Thrown }),
]);
export type HostMessage = z.infer<typeof HostMessage>;

/** A message of a host; null where the text is none. */
export const readHostMessage = (head: string): HostMessage | null => {
  const parsed = parseJson(head);
  if (!parsed.ok) return null;
  return readPlainMessage(parsed.value) ?? HostMessage.safeParse(parsed.value).data ?? null;
};

/** The two messages of most calls, checked by hand in a fraction of the schema's time; null where only the schema can tell. */
export const readPlainMessage = (value: unknown): HostMessage | null => {
  if (!isRecord(value)) return null;
  const { type, nonce, end } = value;
  if (typeof nonce !== 'string') return null;
  if (type === 'began') return { type, nonce };
  if (type !== 'answer' || !isRecord(end)) return null;
  const { kind, message, marks, warnings } = end;
  const isPlain = kind === 'success' && isEmptyList(marks) && isEmptyList(warnings);
  if (!isPlain || typeof message !== 'string' || message.length > MAX_TEXT) return null;
  return { type, nonce, end: { kind, message, marks: [], warnings: [] } };
};

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;
