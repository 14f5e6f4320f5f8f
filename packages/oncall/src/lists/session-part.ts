import type { AllowedTools } from 'recourse-server/auth/callers';
import { parseJson } from 'recourse-server/json/parse-json';
import * as z from 'zod';
import { type SessionItem, SessionItem as SessionItemSchema } from '../contract/contract.ts';

// Pairs, and no properties: a tool may be called `constructor`.
const Moments = z.array(z.tuple([z.string(), z.number()]));
type Moments = z.infer<typeof Moments>;

/** What is known of a session: in one second, by one replica, or put together. Times in Unix milliseconds. */
const SessionPart = z.object({
  /** 0: it was not active. */
  firstAt: z.number().default(0),
  lastAt: z.number().default(0),
  calls: z.int().nonnegative().default(0),
  failures: z.int().nonnegative().default(0),
  /** A call of its last batch failed, or one that outlived its batch has since. */
  isFailing: z.boolean().default(false),
  /** As its caller chose it; null: it is not kept. */
  id: z.string().nullable().default(null),
  replica: z.string().default(''),
  lastFailure: SessionItemSchema.shape.last_failure.default(null),
  /** When which tool was blocked, and made fresh; `*`: all of them. */
  blocked: Moments.default([]),
  resets: Moments.default([]),
  /** When it was ended; 0: it was not. */
  endedAt: z.number().default(0),
});
export type SessionPart = Readonly<z.infer<typeof SessionPart>>;

export const NO_SESSION: SessionPart = {
  ...{ firstAt: 0, lastAt: 0, calls: 0, failures: 0, isFailing: false, id: null, replica: '', lastFailure: null },
  ...{ blocked: [], resets: [], endedAt: 0 },
};

const ALL_TOOLS = '*';
// Whoever resets a session chooses the names of tools.
const MOST_MOMENTS = 100;

/** A reset of the budget of a tool, or of all (null). */
export const toReset = (tool: string | null, at: number): SessionPart => ({
  ...NO_SESSION,
  resets: [[tool ?? ALL_TOOLS, at]],
});

/** When it was active, reset or ended last. */
export const touchedAt = ({ lastAt, endedAt, resets }: SessionPart): number =>
  Math.max(lastAt, endedAt, ...resets.map(([, at]) => at));

/** null: the text is damaged. */
export const readPart = (json: string): SessionPart | null => {
  const parsed = parseJson(json);
  return parsed.ok ? (SessionPart.safeParse(parsed.value).data ?? null) : null;
};

/** Without what is as in `NO_SESSION`. */
export const toJson = (part: SessionPart): string => {
  return JSON.stringify({
    ...part,
    id: part.id ?? undefined,
    failures: part.failures || undefined,
    isFailing: part.isFailing || undefined,
    lastFailure: part.lastFailure ?? undefined,
    blocked: part.blocked.length === 0 ? undefined : part.blocked,
    resets: part.resets.length === 0 ? undefined : part.resets,
    endedAt: part.endedAt || undefined,
  });
};

/** Whether more is known of it than that it was used, or ended. */
export const isNotable = ({ failures, isFailing, blocked, resets }: SessionPart): boolean =>
  failures > 0 || isFailing || blocked.length + resets.length > 0;

const isAlive = ({ lastAt }: SessionPart, endedAt: number): boolean => lastAt > endedAt;

/** Among which sessions it counts. `gone`: it was not used since it was ended. */
export const placeOf = (part: SessionPart): 'failed' | 'active' | 'gone' => {
  if (!isAlive(part, part.endedAt)) return 'gone';
  return isNotable(part) ? 'failed' : 'active';
};

const mergeMoments = (one: Moments, other: Moments): Moments => {
  if (one.length === 0 || other.length === 0) return one.length === 0 ? other : one;
  const times = new Map(one);
  for (const [tool, at] of other) times.set(tool, Math.max(times.get(tool) ?? 0, at));
  return times.size <= MOST_MOMENTS ? [...times] : [...times].toSorted(latestFirst).slice(0, MOST_MOMENTS);
};

// That of all tools stays: it stands for many.
const latestFirst = ([one, oneAt]: Moments[number], [other, otherAt]: Moments[number]): number =>
  Number(other === ALL_TOOLS) - Number(one === ALL_TOOLS) || otherAt - oneAt;

/** Both together, whichever came first. What was before the end of the session is forgotten. */
export const mergeParts = (one: SessionPart, other: SessionPart): SessionPart => {
  const endedAt = Math.max(one.endedAt, other.endedAt);
  const resets = mergeMoments(one.resets, other.resets);
  const [older, newer] = one.lastAt > other.lastAt ? [other, one] : [one, other];
  if (!isAlive(newer, endedAt)) return { ...NO_SESSION, resets, endedAt };
  if (!isAlive(older, endedAt)) return { ...newer, resets, endedAt };
  const failures = [older.lastFailure, newer.lastFailure].filter((failure) => failure !== null);
  return {
    firstAt: Math.min(older.firstAt, newer.firstAt),
    lastAt: newer.lastAt,
    calls: older.calls + newer.calls,
    failures: older.failures + newer.failures,
    isFailing: newer.isFailing,
    id: newer.id ?? older.id,
    replica: newer.replica,
    lastFailure: failures.toSorted((first, second) => first.at.localeCompare(second.at)).at(-1) ?? null,
    blocked: mergeMoments(older.blocked, newer.blocked),
    resets,
    endedAt,
  };
};

/** When a block ends by itself, in milliseconds after the tool was blocked, and after the session was used last. */
export type BlockTerms = { readonly cooldownMs: number; readonly ttlMs: number };

/** What whoever may use these tools sees of a session that was not ended since it was used; null: nothing. */
export const describeSession = (
  session: string,
  part: SessionPart,
  { cooldownMs, ttlMs }: BlockTerms,
  { tools, mayUse, now }: AllowedTools & { readonly now: number },
): SessionItem | null => {
  const { lastAt, resets, lastFailure } = part;
  if (!isAlive(part, part.endedAt)) return null;
  const resetAt = new Map(resets);
  const isBlocked = ([tool, at]: readonly [string, number]): boolean =>
    mayUse(tool) &&
    at > Math.max(resetAt.get(tool) ?? 0, resetAt.get(ALL_TOOLS) ?? 0) &&
    lastAt + ttlMs > now &&
    (cooldownMs === 0 || at + cooldownMs > now);
  const blocked = part.blocked.filter(isBlocked);
  const shown = lastFailure !== null && mayUse(lastFailure.tool) ? lastFailure : null;
  const failing = part.isFailing && shown !== null ? 'failing' : 'ok';
  return {
    session,
    id: part.id,
    state: blocked.length > 0 ? 'blocked' : failing,
    blocked_tools: blocked.map(([tool]) => tool).toSorted(),
    first_at: new Date(part.firstAt).toISOString(),
    last_at: new Date(lastAt).toISOString(),
    // Of which tools they were is not kept.
    calls: tools === 'all' ? part.calls : null,
    failures: tools === 'all' ? part.failures : null,
    last_failure: shown,
    replica: part.replica,
  };
};
