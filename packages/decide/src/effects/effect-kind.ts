import { FAILURE_CODES } from 'recourse-server/contract/failure';
import { isRecord } from 'recourse-server/contract/json-record';
import { parseJson } from 'recourse-server/json/parse-json';
import { textBytes } from 'recourse-server/memory/bounded-store';
import { createTextKind } from 'recourse-server/store/text-kind';
import * as z from 'zod';

/** How long an effect is looked for, and how long its verdict is kept, in milliseconds. */
export const EFFECT_TTL_MS = 24 * 60 * 60 * 1000;

/** Names the record of an effect: its tenant and its id, so that no tenant finds that of another. */
export const effectKeyOf = ({ tenant, effectId }: { readonly tenant: string; readonly effectId: string }): string =>
  `${tenant}:${effectId}`;

/** What is needed to look for a write, and to settle it, in any process. */
export const EffectSpec = z.object({
  effectId: z.string(),
  tool: z.string(),
  /** JSON text. */
  arguments: z.string(),
  tenant: z.string(),
  caller: z.string().nullable(),
  holder: z.string(),
  requestId: z.string(),
  batchId: z.string(),
  sessionKey: z.string().nullable(),
  index: z.int().nonnegative(),
  id: z.union([z.string(), z.number()]).nullable(),
  name: z.string().nullable(),
  places: z.array(z.object({ recordKey: z.string(), place: z.int().nonnegative(), requestKey: z.string() })),
  handle: z.string().nullable(),
  ticket: z.string().nullable(),
  /** `Grant.ticket` of what was reserved for it; null, or left out: nothing was. */
  grant: z.string().nullish(),
  notify: z.string().nullable(),
  retries: z.int().nonnegative(),
});
export type EffectSpec = Readonly<z.infer<typeof EffectSpec>>;

/** Why nobody knows how a run ended, as its result says it; without secrets. */
export const UnknownFailure = z.object({
  code: z.enum(FAILURE_CODES),
  message: z.string(),
  type: z.string(),
  /** Its session was charged for it. */
  isCharged: z.boolean(),
});
export type UnknownFailure = Readonly<z.infer<typeof UnknownFailure>>;

/** What was found out of a run. */
const EffectEnd = z.object({
  verdict: z.enum(['happened', 'did_not_happen']),
  by: z.enum(['tool', 'run', 'person']),
  /** JSON text; 'null' where it did not happen. */
  valueJson: z.string(),
  /** For the model. */
  message: z.string(),
  /** What is wrong with the value, which is null then. */
  problem: z.string().nullable(),
  /** Of a person. */
  reason: z.string().nullable(),
});
export type EffectEnd = Readonly<z.infer<typeof EffectEnd>>;

const FORMAT = 1;
/** Times by the store's clock, in Unix milliseconds. */
const Head = z.object({
  format: z.literal(FORMAT),
  state: z.enum(['running', 'open', 'settled']),
  /** Rises with each run and each verdict: who names an older one is too late. */
  fence: z.int().nonnegative(),
  startedAt: z.number(),
  /** Until when the process of the run holds it, which it renews; 0: the run is over. */
  leaseEndsAt: z.number(),
  /** When the run ended; while a process holds it, when it ends at the latest. */
  actsUntil: z.number(),
  /** Since when nobody knows how it ended; 0: that was never so. */
  openedAt: z.number(),
  /** How often was looked; each look is known by its number. */
  attempts: z.int().nonnegative(),
  /** Until when one process looks; 0: none does. */
  checkEndsAt: z.number(),
  /** Whether the run could no longer act when that look began. */
  isRunOver: z.boolean(),
  nextAt: z.number(),
  settledAt: z.number(),
  /** What was found out stands in all other records, too. */
  isApplied: z.boolean(),
  /** A run has ended otherwise than a verdict had said. */
  isContradicted: z.boolean(),
  /** What no other record of its key has. */
  creation: z.string(),
});

export type Effect = z.infer<typeof Head> & {
  /** JSON text of an `EffectSpec`, sealed where there is a store key. */
  spec: string;
  failure: UnknownFailure | null;
  end: EffectEnd | null;
};

/** The effect of a write as it is stored; null: there is none. */
export type StoredEffect = { effect: Effect | null };

export const createEffect = (creation: string, spec: string, now: number): Effect => ({
  ...{ format: FORMAT, state: 'running', fence: 0, startedAt: now, leaseEndsAt: 0, actsUntil: now, openedAt: 0 },
  ...{ attempts: 0, checkEndsAt: 0, isRunOver: false, nextAt: now, settledAt: 0, isApplied: false },
  ...{ isContradicted: false, creation, spec, failure: null, end: null },
});

const read = <Value>(schema: z.ZodType<Value>, text: string | undefined): Value | null => {
  const parsed = text === undefined ? null : parseJson(text);
  return parsed?.ok === true && isRecord(parsed.value) ? (schema.safeParse(parsed.value).data ?? null) : null;
};

// Measured as other records: the state, its texts apart.
const EFFECT_BYTES = 600;

/** Effects: `h` is the head, `s` the spec, `f` why nobody knows, `e` what was found out. Those that are not settled are the last to go. */
export const effectKind = createTextKind<StoredEffect>({
  name: 'effect',
  operation: 'keyed',
  own: /^[hsfe]$/,
  memory: { records: 'marks', lists: null, pinned: 'leases' },
  isPinned: ({ effect }) => effect !== null && effect.state !== 'settled',
  ttlMs: ({ effect }, now) => {
    if (effect === null) return EFFECT_TTL_MS;
    const { state, settledAt, openedAt, actsUntil } = effect;
    const from = state === 'settled' ? settledAt : state === 'open' ? openedAt : actsUntil;
    return from + EFFECT_TTL_MS - now;
  },
  create: () => ({ effect: null }),
  decode: (fields) => {
    const head = read(Head, fields.get('h'));
    if (head === null) return { effect: null };
    const failure = read(UnknownFailure, fields.get('f'));
    return { effect: { ...head, spec: fields.get('s') ?? '', failure, end: read(EffectEnd, fields.get('e')) } };
  },
  toTexts: ({ effect }, saved) => {
    if (effect === null) return saved;
    const { spec, failure, end, ...head } = effect;
    const texts = new Map([
      ['h', JSON.stringify(head)],
      ['s', spec],
    ]);
    if (failure !== null) texts.set('f', JSON.stringify(failure));
    if (end !== null) texts.set('e', JSON.stringify(end));
    return texts;
  },
  isEmpty: ({ effect }) => effect === null,
  bytes: ({ effect }) => {
    if (effect === null) return 0;
    const { spec, failure, end } = effect;
    return EFFECT_BYTES + textBytes(spec) + textBytes(failure?.message ?? '') + textBytes(end?.valueJson ?? '');
  },
});
