import { CallSpec, type PendingLimit } from 'recourse-server/executor/pending-calls';
import { readStoredResult } from 'recourse-server/executor/stored-result';
import { SMALL_TEXT, weighJson } from 'recourse-server/json/weigh-json';
import { textBytes } from 'recourse-server/memory/bounded-store';
import { parseObject } from 'recourse-server/sessions/idempotency/result-cap';
import type { Fields, Kind } from 'recourse-server/store/record-store';
import { isSealed } from 'recourse-server/store/seals';
import { NO_LIST, toChanges, toOwnFields } from 'recourse-server/store/text-kind';
import * as z from 'zod';

/** How long the result of a call is kept after its end, in milliseconds. */
export const RESULT_TTL_MS = 24 * 60 * 60 * 1000;

/** Names the record of a call: its tenant and its handle, so that no tenant finds the call of another. */
export const toCallKey = (tenant: string, handle: string): string => `${tenant}:${handle}`;

/** The handle in the name of a record. */
export const handleOf = (key: string): string => key.slice(key.lastIndexOf(':') + 1);

/** Under whom a pending call counts: its API key; where it came without one, its tenant, or the address of who is anonymous. */
export const holderOf = ({ keyHash, caller }: Pick<CallSpec, 'keyHash' | 'caller'>): string =>
  keyHash === undefined ? caller : `${KEY_HOLDER}${keyHash}`;

/** What the holder of calls begins with that came with an API key, before its hash. */
export const KEY_HOLDER = 'key:';

const Progress = z.object({ done: z.number(), total: z.number().nullable(), message: z.string().nullable() });
/** How far a call has said that it is. */
export type CallProgress = Readonly<z.infer<typeof Progress>>;

const FORMAT = 1;
/** What changes with each step, and is no text. Times by the store's clock. */
const Head = z.object({
  format: z.literal(FORMAT),
  /** `queued`: no worker holds it, or the one that does has not begun. `waiting_for_approval`: no worker takes it. */
  state: z.enum(['queued', 'waiting_for_approval', 'running', 'ended']),
  /** When a person had decided, or could no longer; 0: none has. From then on its time runs. */
  releasedAt: z.number().default(0),
  /** How often its handler has begun, or may have. */
  begins: z.int().nonnegative(),
  /** What somebody asked of it: to end it where that does no harm, or in any case. */
  cancel: z.enum(['no', 'asked', 'forced']),
  /** When a worker first gave it back for want of its tool, in Unix milliseconds; null: none has. */
  lackedSince: z.number().nullable(),
  /** The number of the worker that holds it or held it last; 0: none has. */
  fence: z.int().nonnegative(),
  /** 0: no worker holds it. */
  leaseEndsAt: z.number(),
  /** Its maker knows of it. */
  confirmed: z.boolean(),
  /** How many tries of its batch have created it. */
  tries: z.int(),
  /** It ended without anybody knowing how. */
  unknown: z.boolean(),
  createdAt: z.number(),
  /** What no other record of its key has, where its spec is sealed; else ''. */
  creation: z.string().default(''),
  /** How long the record of a call that does not end lives. */
  lifeMs: z.number(),
  /** 0 before the end. */
  endedAt: z.number(),
});

/** What a call runs by as it is kept: with the arguments until the call has ended, or sealed. */
export type KeptSpec = CallSpec | { readonly sealed: string; readonly sealedArguments: string };

export type Call = z.infer<typeof Head> & {
  /** null: it cannot be read, or was not fetched. */
  spec: KeptSpec | null;
  progress: CallProgress | null;
  /** JSON text; null before the end, and where it ended because no process may act on it. */
  result: string | null;
};

/** A pending call as it is stored; null: there is none. */
export type StoredCall = { call: Call | null };

/** What is told of a pending call. Times by the store's clock, in Unix milliseconds. */
export type CallRecord = Readonly<Pick<Call, 'state' | 'begins' | 'cancel' | 'lackedSince' | 'progress' | 'result'>> &
  Pick<CallSpec, 'acceptedAt' | 'expiresAt'> & {
    /** null: it does not open here, for it is damaged, or sealed with a key which this process lacks. */
    readonly spec: CallSpec | null;
  };

/** What is told of one that opens. */
export type PendingRecord = CallRecord & { readonly spec: CallSpec };

/** What somebody asked of a call. */
export type CancelRequest = CallRecord['cancel'];

/** `spec`: as it was opened; null: it does not open. */
export const toCallRecord = <Spec extends CallSpec | null>(
  call: Call,
  spec: Spec,
): CallRecord & { readonly spec: Spec } => {
  const { state, begins, cancel, lackedSince, progress, result, createdAt, lifeMs } = call;
  const acceptedAt = spec?.acceptedAt ?? createdAt;
  const expiresAt = spec?.expiresAt ?? createdAt + lifeMs - RESULT_TTL_MS;
  return { state, begins, cancel, lackedSince, progress, result, spec, acceptedAt, expiresAt };
};

/** A call that a worker holds: only under this number may it write. */
export type CallLease = {
  readonly key: string;
  readonly fence: number;
  /** Of the record. */
  readonly spec: CallSpec;
  readonly creation: string;
};

export type Claim =
  /** `isTakenOver`: another worker held it, and let its lease lapse. */
  | { readonly kind: 'held'; readonly lease: CallLease; readonly record: PendingRecord; readonly isTakenOver: boolean }
  /** Another worker holds it, for so long if it dies now. */
  | { readonly kind: 'busy'; readonly retryAfterMs: number }
  | { readonly kind: 'ended' }
  /** A person has not decided yet: it is queued again then. */
  | { readonly kind: 'waiting' }
  /** This process lacks the key that it is sealed with; another one may have it. */
  | { readonly kind: 'key_missing' }
  /** Nothing is known of it: it has expired, or the store has lost it. */
  | { readonly kind: 'gone' };

export type Creation =
  | { readonly kind: 'created' }
  /** There is a record by this name: an earlier try of the same batch made it. */
  | { readonly kind: 'exists' }
  /** The same call of its session is pending, or has just ended, under this key: none was made. */
  | { readonly kind: 'same'; readonly key: string }
  | { readonly kind: 'full'; readonly of: PendingLimit; readonly limit: number };

/** `late`: after its worker may have lost the call. `unknown`: a late end replaces the result, see `isReplaceable`. */
export type CommitKind = { readonly late: boolean; readonly unknown: boolean };

/** A lease that has run out is no obstacle while no other worker has taken the call. */
export const findHeld = ({ call }: StoredCall, { fence }: Pick<CallLease, 'fence'>): Call | null =>
  call !== null && call.state !== 'ended' && call.fence === fence ? call : null;

/** What a look at one needs that reads neither arguments nor the result. */
export const HEAD_FIELDS = ['h'] as const;
export const VERSION_FIELDS = ['h', 'p'] as const;
/** All but the arguments. */
export const BRIEF_FIELDS = ['h', 's', 'p', 'r'] as const;
const FIELDS: readonly string[] = [...BRIEF_FIELDS, 'a'];

// The maker of a record confirms it with its next step.
const UNCONFIRMED_MS = 60_000;

/**
 * Pending calls as records. What changes with each step is one small field (`h`: format and all that is no text); the others are
 * written once: the spec (`s`), the arguments (`a`), how far the call is (`p`), the result (`r`).
 */
export const callKind: Kind<StoredCall, Map<string, string>> = {
  ...NO_LIST,
  name: 'call',
  operations: { short: 'pending', long: 'pending' },
  memory: { records: 'pending', lists: null },
  // Arguments and results may be large, and a process knows most of the calls that it does not hold no more.
  knownPart: 0.06,
  // How many they are is bounded, and their memory is held.
  isPinned: ({ call }) => call !== null && call.state !== 'ended',
  ttlMs: ({ call }, now) => (call === null ? 0 : toEnd(call) - now),
  create: () => ({ call: null }),
  decode: (fields) => {
    const head = Head.safeParse(parseObject(fields.get('h') ?? '')).data;
    if (head === undefined) return { call: null };
    return {
      call: {
        ...head,
        spec: toKeptSpec(fields.get('s') ?? '', fields.get('a') ?? ''),
        progress: Progress.safeParse(parseObject(fields.get('p') ?? '')).data ?? null,
        result: fields.get('r') ?? null,
      },
    };
  },
  toSaved: (_stored, fields) => toOwnFields(fields, (name) => FIELDS.includes(name)),
  changes: ({ call }, saved) => toChanges(call === null ? new Map() : toTexts(call, saved), saved),
  isEmpty: ({ call }) => call === null,
  bytes: ({ call }) => {
    if (call === null) return 0;
    const { spec, progress, result } = call;
    return RECORD_BYTES + toSpecBytes(spec) + textBytes(progress?.message ?? '') + textBytes(result ?? '');
  },
};

const toKeptSpec = (text: string, sealedArguments: string): KeptSpec | null => {
  if (isSealed(text)) return { sealed: text, sealedArguments };
  const spec = CallSpec.safeParse(parseObject(text)).data;
  return spec === undefined ? null : { ...spec, arguments: sealedArguments };
};

const toEnd = ({ state, confirmed, createdAt, lifeMs, endedAt }: Call): number => {
  if (state === 'ended') return endedAt + RESULT_TTL_MS;
  return createdAt + (confirmed ? lifeMs : UNCONFIRMED_MS);
};

// What could not be read stays as it is.
const toTexts = ({ spec, progress, result, ...head }: Call, saved: Fields): Fields => {
  const texts = new Map([['h', JSON.stringify(head)]]);
  const put = (name: string, text: string | null = saved.get(name) ?? null): void => {
    if (text !== null && text !== '') texts.set(name, text);
  };
  const [text, argumentsText] = toSpecTexts(spec);
  put('s', text);
  put('a', argumentsText);
  put('p', progress === null ? undefined : JSON.stringify(progress));
  put('r', result);
  return texts;
};

const toSpecTexts = (spec: KeptSpec | null): readonly [text?: string, argumentsText?: string] => {
  if (spec === null) return [];
  if ('sealed' in spec) return [spec.sealed, spec.sealedArguments];
  return [JSON.stringify({ ...spec, arguments: '' }), spec.arguments];
};

// Measured: a record with its collections' places, without texts.
const RECORD_BYTES = 900;

const toSpecBytes = (spec: KeptSpec | null): number => {
  let bytes = 0;
  for (const member of Object.values(spec ?? {})) if (typeof member === 'string') bytes += textBytes(member);
  return bytes;
};

/** What a call takes of the heap while it is pending, in bytes, whatever text of it the caller chose: an id of any length for one. */
export const weighCall = (spec: CallSpec): number => RECORD_BYTES + weighArguments(spec) + toSpecBytes(spec);

/** What the arguments of a call take while it runs, beside their text, in bytes: their value, and its copy for a tool host. */
export const weighArguments = ({ arguments: text }: Pick<CallSpec, 'arguments'>): number =>
  text.length <= SMALL_TEXT ? 0 : weighJson(text);

/** A call that was just accepted. `kept`: what it runs by, as the record has it. */
export const createCall = (
  { expiresAt, acceptedAt, approval }: Pick<CallSpec, 'expiresAt' | 'acceptedAt' | 'approval'>,
  kept: Pick<Call, 'creation'> & { readonly spec: KeptSpec },
  now: number,
): Call => ({
  format: FORMAT,
  state: (approval ?? null) === null ? 'queued' : 'waiting_for_approval',
  releasedAt: 0,
  begins: 0,
  cancel: 'no',
  lackedSince: null,
  fence: 0,
  leaseEndsAt: 0,
  confirmed: false,
  tries: 1,
  unknown: false,
  createdAt: now,
  creation: kept.creation,
  lifeMs: Math.max(0, Math.ceil(expiresAt - acceptedAt)) + RESULT_TTL_MS,
  endedAt: 0,
  spec: kept.spec,
  progress: null,
  result: null,
});

/** Of a call that is confirmed and has not ended; null: it is not. */
export const describeHead = ({ call }: StoredCall) =>
  call === null || call.state === 'ended' || !call.confirmed ? null : { createdAt: call.createdAt, state: call.state };

/** '' as long as a call has neither ended nor said how far it is, else a text that changes with that. */
export const describeVersion = ({ call }: StoredCall): string => {
  if (call === null || call.state === 'ended') return 'ended';
  return call.progress === null ? '' : JSON.stringify(call.progress);
};

/** Whether no worker may take it before a person has decided; one that was cancelled waits no more. */
export const isWaiting = ({ state, cancel }: Pick<Call, 'state' | 'cancel'>): boolean =>
  state === 'waiting_for_approval' && cancel === 'no';

/** Ends the wait for a person: any worker may take it now. `runMs`: how long it may take from now on. */
export const releaseCall = (call: Call, runMs: number, now: number): void => {
  if (call.state !== 'waiting_for_approval') return;
  Object.assign(call, { state: 'queued', releasedAt: now, confirmed: true });
  call.lifeMs = now - call.createdAt + Math.ceil(runMs) + RESULT_TTL_MS;
};

/** What a call runs by, with the end of the time that it has once a person has decided. */
export const withRunTime = <Spec extends CallSpec>(spec: Spec, { releasedAt }: Pick<Call, 'releasedAt'>): Spec =>
  releasedAt === 0 ? spec : { ...spec, expiresAt: releasedAt + (spec.runMs ?? 0) };

/** Whether a late end replaces this result: it is unknown how its call ended, or a check alone says that it had no effect. */
export const isReplaceable = (result: string): boolean => {
  const stored = readStoredResult(result);
  return stored?.outcome === 'unknown' || (stored?.executed === 'no' && 'reconciled' in stored);
};

/** Whether this lease may end the call: a late end replaces only a result that is replaceable. */
export const mayEnd = (call: Call, fence: number, how: CommitKind): boolean =>
  call.state === 'ended' ? how.late && call.unknown : call.fence === fence;

/** Ends the call. `kept`: what is left of what it ran by, for its arguments are not asked for again; null: that stays as it is. */
export const endCall = (
  call: Call,
  {
    result,
    unknown,
    kept,
  }: { readonly result: string | null; readonly unknown: boolean; readonly kept: KeptSpec | null },
  now: number,
): void => {
  call.state = 'ended';
  call.endedAt = now;
  call.leaseEndsAt = 0;
  call.unknown = unknown;
  call.result = result;
  if (kept !== null) call.spec = kept;
};

/** What was forced stays forced. */
export const markCancelled = (call: Call, how: Exclude<CancelRequest, 'no'>): void => {
  if (call.state !== 'ended' && call.cancel !== 'forced') call.cancel = how;
};
