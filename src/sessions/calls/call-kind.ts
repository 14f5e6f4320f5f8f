import * as z from 'zod';
import { EFFECTS } from '../../contract/failure.ts';
import type { CallSpec } from '../../executor/pending-calls.ts';
import { textBytes } from '../../memory/bounded-store.ts';
import { type CallProgress, type CallRecord, type CancelRequest, RESULT_TTL_MS } from '../../pending/call-records.ts';
import type { Kind } from '../../store/record-store.ts';
import { parseObject } from '../keyed/keyed-results.ts';

/** A pending call as it is stored. Times by the store's clock; "" is a text that there is not. */
export type StoredCall = {
  /** null: there is none. */
  call: {
    state: CallRecord['state'];
    begins: number;
    cancel: CancelRequest;
    lackedSince: number | null;
    /** The number of the worker that holds it or held it last; 0: none has. */
    fence: number;
    /** 0: nobody holds it. */
    leaseEndsAt: number;
    /** Whoever made it knows of it. */
    confirmed: boolean;
    /** How many tries of its batch have created it. */
    tries: number;
    /** It ended without anybody knowing how. */
    unknown: boolean;
    readonly createdAt: number;
    /** How long the record of a call that does not end lives. */
    readonly lifeMs: number;
    /** 0 before the end. */
    endedAt: number;
    /** JSON, with empty arguments. */
    readonly spec: string;
    /** JSON text; "" once the call has ended. */
    arguments: string;
    /** JSON */
    progress: string;
    /** JSON text */
    result: string;
  } | null;
};

type Call = NonNullable<StoredCall['call']>;

/** What a look at one needs that reads neither arguments nor the result. */
export const HEAD_FIELDS = ['h'] as const;
export const VERSION_FIELDS = ['h', 'p'] as const;
/** All but the arguments. */
export const BRIEF_FIELDS = ['h', 's', 'p', 'r'] as const;

// Whoever makes a record confirms it with its next step.
const UNCONFIRMED_MS = 60_000;
// Measured: a record with its collections' places, without texts.
const RECORD_BYTES = 900;

/**
 * Pending calls as records. What changes with each step is one small field (`h`: format and all that is no text); the others are
 * written once: the spec (`s`), the arguments (`a`), how far the call is (`p`), the result (`r`).
 */
export const callKind: Kind<StoredCall, Map<string, string>> = {
  name: 'call',
  memory: { records: 'pending', lists: null },
  // Arguments and results may be large, and a process knows most of the calls that it does not hold no more.
  knownPart: 0.1,
  // How many they are is bounded, and their memory is held.
  isPinned: ({ call }) => call !== null && call.state !== 'ended',
  ttlMs: ({ call }, now) => (call === null ? 0 : toEnd(call) - now),
  create: () => ({ call: null }),
  decode: (fields) => ({
    call: decodeCall(fields.get('h') ?? '', {
      spec: fields.get('s') ?? '',
      arguments: fields.get('a') ?? '',
      progress: fields.get('p') ?? '',
      result: fields.get('r') ?? '',
    }),
  }),
  toSaved: (_stored, fields) => new Map(fields),
  changes: ({ call }, saved) => {
    const set: string[] = [];
    const gone: string[] = [];
    const put = (field: string, text: string): void => {
      if (text === (saved.get(field) ?? '')) return;
      saved.set(field, text);
      if (text === '') gone.push(field);
      else set.push(field, text);
    };
    put('h', call === null ? '' : encodeHead(call));
    put('s', call?.spec ?? '');
    put('a', call?.arguments ?? '');
    put('p', call?.progress ?? '');
    put('r', call?.result ?? '');
    return { set, gone };
  },
  takeAdded: () => NONE,
  toKeep: () => 0,
  isEmpty: ({ call }) => call === null,
  bytes: ({ call }) =>
    call === null
      ? 0
      : RECORD_BYTES +
        textBytes(call.spec) +
        textBytes(call.arguments) +
        textBytes(call.progress) +
        textBytes(call.result),
};

const NONE = [] as const;

const toEnd = ({ state, confirmed, createdAt, lifeMs, endedAt }: Call): number => {
  if (state === 'ended') return endedAt + RESULT_TTL_MS;
  return createdAt + (confirmed ? lifeMs : UNCONFIRMED_MS);
};

/** A call that was just accepted. */
export const createCall = (spec: CallSpec, now: number): Call => ({
  state: 'queued',
  begins: 0,
  cancel: 'no',
  lackedSince: null,
  fence: 0,
  leaseEndsAt: 0,
  confirmed: false,
  tries: 1,
  unknown: false,
  createdAt: now,
  lifeMs: Math.max(0, Math.ceil(spec.expiresAt - spec.acceptedAt)) + RESULT_TTL_MS,
  endedAt: 0,
  spec: JSON.stringify({ ...spec, arguments: '' }),
  arguments: spec.arguments,
  progress: '',
  result: '',
});

const FORMAT = 1;
const Head = z.object({
  format: z.literal(FORMAT),
  state: z.enum(['queued', 'running', 'ended']),
  begins: z.int().nonnegative(),
  cancel: z.enum(['no', 'asked', 'forced']),
  lackedSince: z.number().nullable(),
  fence: z.int().nonnegative(),
  leaseEndsAt: z.number(),
  confirmed: z.boolean(),
  tries: z.int(),
  unknown: z.boolean(),
  createdAt: z.number(),
  lifeMs: z.number(),
  endedAt: z.number(),
});
type Texts = Pick<Call, 'spec' | 'arguments' | 'progress' | 'result'>;

const encodeHead = ({
  spec: _spec,
  arguments: _arguments,
  progress: _progress,
  result: _result,
  ...head
}: Call): string => JSON.stringify({ format: FORMAT, ...head } satisfies z.infer<typeof Head>);

/** null where there is none, or none that can be believed. */
const decodeCall = (text: string, texts: Texts): Call | null => {
  const read = Head.safeParse(parseObject(text)).data;
  if (read === undefined) return null;
  const { format: _format, ...head } = read;
  return { ...head, ...texts };
};

const Text = z.string();
const Progress = z.object({ done: z.number(), total: z.number().nullable(), message: Text.nullable() });

const Spec = z.object({
  requestId: Text,
  requestKey: Text,
  recordKey: Text,
  tenant: Text,
  key: Text.nullable(),
  keyHash: Text.optional(),
  caller: Text,
  callerId: Text.nullable(),
  sessionKey: Text.nullable(),
  index: z.int(),
  id: z.union([Text, z.number(), z.null()]),
  name: Text,
  tool: Text,
  effects: z.enum(EFFECTS),
  background: z.enum(['never', 'optional', 'always']),
  arguments: Text,
  fingerprint: Text,
  timeoutMs: z.number(),
  idempotencyKey: Text.nullable(),
  ticket: Text.nullable(),
  retries: z.number(),
  notify: Text.nullable(),
  traceId: Text.nullable(),
  acceptedAt: z.number(),
  expiresAt: z.number(),
}) satisfies z.ZodType<CallSpec>;

/** What the call runs by, without its arguments; null where that cannot be believed. */
export const readSpec = (text: string): CallSpec | null => Spec.safeParse(parseObject(text)).data ?? null;

const readProgress = (text: string): CallProgress | null => Progress.safeParse(parseObject(text)).data ?? null;

/** null where there is none, or none that can be believed. */
export const toCallRecord = ({ call }: StoredCall): CallRecord | null => {
  const spec = call === null ? null : readSpec(call.spec);
  if (call === null || spec === null) return null;
  const { state, begins, cancel, lackedSince } = call;
  return {
    spec: { ...spec, arguments: call.arguments },
    ...{ state, begins, cancel, lackedSince },
    progress: readProgress(call.progress),
    result: call.result === '' ? null : call.result,
  };
};
