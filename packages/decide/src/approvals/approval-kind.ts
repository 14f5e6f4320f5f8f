import { EFFECTS } from 'recourse-server/contract/failure';
import { isRecord } from 'recourse-server/contract/json-record';
import { parseJson } from 'recourse-server/json/parse-json';
import { textBytes } from 'recourse-server/memory/bounded-store';
import { createTextKind } from 'recourse-server/store/text-kind';
import * as z from 'zod';

/** How long an approval is kept after its end, in milliseconds. */
const KEPT_MS = 24 * 60 * 60 * 1000;

/** Names the record of an approval: its tenant and its id, so that no tenant finds that of another. */
export const approvalKeyOf = (tenant: string, id: string): string => `${tenant}:${id}`;

/** The id in the name of a record. */
export const approvalIdOf = (key: string): string => key.slice(key.lastIndexOf(':') + 1);

/** What is to be approved, and who decides; written once. Times in milliseconds. */
export const ApprovalSpec = z.object({
  tenant: z.string(),
  tool: z.string(),
  effects: z.enum(EFFECTS),
  /** Of the call as it was sent. */
  digest: z.string(),
  /** JSON text, with the defaults of the schema filled in. */
  arguments: z.string(),
  sessionKey: z.string().nullable(),
  /** Who called: the name of the key, its hash, and who of the tenant. */
  key: z.string().nullable(),
  keyHash: z.string().nullable(),
  caller: z.string().nullable(),
  requestId: z.string(),
  index: z.int().nonnegative(),
  /** Of the pending call that waits for it; null: its caller has to call again. */
  handle: z.string().nullable(),
  /** `Grant.ticket` of what rules have reserved for that pending call; null: nothing. */
  ticket: z.string().nullable(),
  summary: z.string(),
  by: z.array(z.enum(['operator', 'requester'])),
  fourEyes: z.boolean(),
  mayEdit: z.boolean(),
  expiresMs: z.number(),
});
export type ApprovalSpec = Readonly<z.infer<typeof ApprovalSpec>>;

/** What a person has said. */
export const Verdict = z.object({
  decision: z.enum(['approve', 'deny', 'edit']),
  /** Of what may run. */
  digest: z.string(),
  /** JSON text of the arguments in the place of those that were sent; null: those. */
  arguments: z.string().nullable(),
  /** The name of the key; null: anonymous. */
  by: z.string().nullable(),
  reason: z.string().nullable(),
});
export type Verdict = Readonly<z.infer<typeof Verdict>>;

export const APPROVAL_STATES = ['waiting', 'granted', 'used', 'denied', 'expired', 'cancelled', 'stale'] as const;
export type ApprovalState = (typeof APPROVAL_STATES)[number];

const FORMAT = 1;
/** Times by the store's clock, in Unix milliseconds. */
const Head = z.object({
  format: z.literal(FORMAT),
  state: z.enum(APPROVAL_STATES),
  /** What is or was to be decided: who names another one has read something else. */
  digest: z.string(),
  requestedAt: z.number(),
  expiresMs: z.number(),
  /** Until when it can be decided, a grant can be claimed, or the denial holds; 0: it is over. */
  endsAt: z.number(),
  decidedAt: z.number(),
  /** 0 before the end. */
  endedAt: z.number(),
  /** Whose grant it was: the reservation of a call, or the handle of a pending one. */
  usedBy: z.string().nullable(),
  /** Who waits for it has been told that it is decided, or over. */
  isReleased: z.boolean(),
  /** What no other record of its key has. */
  creation: z.string(),
});

export type Approval = z.infer<typeof Head> & {
  /** JSON text of an `ApprovalSpec`, sealed where there is a store key. */
  spec: string;
  /** JSON text of a `Verdict`, sealed where there is a store key; null: nobody has decided. */
  verdict: string | null;
};

/** An approval as it is stored; null: there is none. */
export type StoredApproval = { approval: Approval | null };

/** What is new of an approval, before its record is made. */
export type NewApproval = Pick<Approval, 'creation' | 'spec' | 'digest' | 'expiresMs'>;

export const createApproval = ({ creation, spec, digest, expiresMs }: NewApproval, now: number): Approval => ({
  ...{ format: FORMAT, state: 'waiting', digest, requestedAt: now, expiresMs, endsAt: now + expiresMs },
  ...{ decidedAt: 0, endedAt: 0, usedBy: null, isReleased: false, creation, spec, verdict: null },
});

const read = <Value>(schema: z.ZodType<Value>, text: string | undefined): Value | null => {
  const parsed = text === undefined ? null : parseJson(text);
  return parsed?.ok === true && isRecord(parsed.value) ? (schema.safeParse(parsed.value).data ?? null) : null;
};

const APPROVAL_BYTES = 700;

/** Approvals: `h` is the head, `s` the spec, `d` what was decided. Those that are not over are the last to go. */
export const approvalKind = createTextKind<StoredApproval>({
  name: 'approval',
  operation: 'keyed',
  own: /^[hsd]$/,
  memory: { records: 'marks', lists: null, pinned: 'leases' },
  isPinned: ({ approval }) => approval !== null && approval.endsAt !== 0,
  // Longer than what leads a repeat to it: its id is never free again while it is known.
  ttlMs: ({ approval }, now) => {
    if (approval === null) return KEPT_MS;
    const { endedAt, endsAt, expiresMs } = approval;
    return Math.max(endedAt, endsAt) + KEPT_MS + POINTER_LIVES * expiresMs - now;
  },
  create: () => ({ approval: null }),
  decode: (fields) => {
    const head = read(Head, fields.get('h'));
    if (head === null) return { approval: null };
    return { approval: { ...head, spec: fields.get('s') ?? '', verdict: fields.get('d') ?? null } };
  },
  toTexts: ({ approval }, saved) => {
    if (approval === null) return saved;
    const { spec, verdict, ...head } = approval;
    const texts = new Map([
      ['h', JSON.stringify(head)],
      ['s', spec],
    ]);
    if (verdict !== null) texts.set('d', verdict);
    return texts;
  },
  isEmpty: ({ approval }) => approval === null,
  bytes: ({ approval }) =>
    approval === null ? 0 : APPROVAL_BYTES + textBytes(approval.spec) + textBytes(approval.verdict ?? ''),
});

/** What leads a repeat of a call to its approval. */
export type StoredPointer = { id: string | null; expiresMs: number };

// An approval waits, then its grant or denial holds, each as long as it expires.
const POINTER_LIVES = 2;
const POINTER_BYTES = 60;

const Pointer = z.object({ id: z.string(), expiresMs: z.number() });

/** By tenant, session or else key, and digest: the approval that a repeat of the call is about. */
export const pointerKind = createTextKind<StoredPointer>({
  name: 'approval-of',
  operation: 'keyed',
  own: /^p$/,
  memory: { records: 'marks', lists: null },
  ttlMs: ({ expiresMs }) => POINTER_LIVES * expiresMs,
  create: () => ({ id: null, expiresMs: 0 }),
  decode: (fields) => read(Pointer, fields.get('p')) ?? { id: null, expiresMs: 0 },
  toTexts: ({ id, expiresMs }, saved) => (id === null ? saved : new Map([['p', JSON.stringify({ id, expiresMs })]])),
  isEmpty: ({ id }) => id === null,
  bytes: () => POINTER_BYTES,
});
