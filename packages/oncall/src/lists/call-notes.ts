import type { CallWatch, ToolInvoked } from 'recourse-server/executor/call-observer';
import type { Redactor } from 'recourse-server/executor/redactor';
import { LOOKAHEAD, withLookahead } from 'recourse-server/tools/describe-value';
import type { FailedCall } from '../contract/contract.ts';
import { MOST_ENTRIES } from './index-kind.ts';
import { isNotable, mergeParts, NO_SESSION, type SessionPart } from './session-part.ts';

// Of one second, of all tenants. No more failures of a tenant are listed at all.
const MOST_FAILURES = 1000;
const MOST_SESSIONS = 10_000;
const MAX_MESSAGE = 300;
const MAX_NAME = 64;
const MAX_ID = 256;

type Failed = {
  readonly event: ToolInvoked;
  readonly name: string | null;
  readonly reference: string;
  /** No retry is left to its session. */
  readonly isLast: boolean;
  readonly at: number;
};
/** Batches of a session. */
type Answered = { readonly firstAt: number; lastAt: number; calls: number; isFailing: boolean };

/** What was noted of a tenant: of its sessions by their hashes, and its failed calls by ids that no other process makes. */
export type TenantNotes = {
  readonly sessions: Map<string, SessionPart>;
  readonly calls: Map<string, { readonly at: number; readonly call: FailedCall }>;
};

export type NoteOptions = {
  readonly redactor: Pick<Redactor, 'cut'>;
  readonly replica: string;
  /** A session as its caller calls it; null: that is not kept. */
  readonly idOf: (sessionKey: string) => string | null;
  /** What begins the ids of calls: of this process alone. */
  readonly prefix: string;
};

/** The hash in the opaque key of a session. */
export const hashOf = (sessionKey: string): string => sessionKey.slice(sessionKey.lastIndexOf(':') + 1);
const tenantOf = (sessionKey: string): string => sessionKey.slice(0, sessionKey.lastIndexOf(':'));

/**
 * Notes what is told of calls, and sorts it by tenants when it is asked for. On the path of a call it adds to a number, or an element to
 * an array; of what is too much for a second, the rest is dropped and counted.
 */
export class CallNotes {
  #failures: Failed[] = [];
  /** By the keys of their sessions: of a session one object a second, however many batches it has. */
  #batches = new Map<string, Answered>();
  /** Keys of sessions that have failed here lately: what becomes of them is of the list of those. */
  readonly #failing = new Set<string>();
  #made = 0;
  #dropped = 0;

  readonly watch: Pick<CallWatch, 'failed' | 'batch'> = {
    failed: (event, _failure, { name, reference }, retry) => {
      const isLast = retry?.remaining === 0 && retry.scope === 'session';
      if (this.#failures.length >= MOST_FAILURES) this.#dropped += 1;
      else
        this.#failures.push({
          event: lighten(event),
          name: keepShown(name, MAX_NAME),
          reference,
          isLast,
          at: Date.now(),
        });
    },
    batch: ({ session, calls: told, failed, isResumed }) => {
      if (session === null) return;
      const calls = isResumed ? 0 : told;
      const at = Date.now();
      const known = this.#batches.get(session);
      if (known !== undefined) {
        known.lastAt = at;
        known.calls += calls;
        known.isFailing = failed > 0;
        return;
      }
      if (this.#batches.size >= MOST_SESSIONS) this.#dropped += 1;
      else this.#batches.set(session, { firstAt: at, lastAt: at, calls, isFailing: failed > 0 });
    },
  };

  /** The list that a session is in with this part: the one of those that have failed from then on until it is ended. */
  listOf(sessionKey: string, part: SessionPart): 'failed' | 'active' {
    if (isNotable(part)) {
      const [oldest] = this.#failing.size < MOST_SESSIONS ? [] : this.#failing;
      if (oldest !== undefined) this.#failing.delete(oldest);
      this.#failing.add(sessionKey);
    } else if (part.endedAt > 0) this.#failing.delete(sessionKey);
    return this.#failing.has(sessionKey) ? 'failed' : 'active';
  }

  /** Adds what was noted since the last time to that of each tenant; gives how much was dropped. `skewMs`: from the clock of this process to that of the store. */
  sort(tenants: Map<string, TenantNotes>, skewMs: number, options: NoteOptions): number {
    const [failures, batches] = [this.#failures, this.#batches];
    [this.#failures, this.#batches] = [[], new Map()];
    for (const failed of failures) {
      const at = failed.at + skewMs;
      const call = describeCall(failed, at, options);
      this.#made += 1;
      putBounded(notesOf(tenants, failed.event.tenant).calls, MOST_ENTRIES, `${options.prefix}${this.#made}`, {
        at,
        call,
      });
      if (failed.event.session !== null)
        addPart(tenants, failed.event.session, partOfFailure(failed, at, call, options));
    }
    const left = new Map<string, number>();
    for (const tenant of [...batches.keys()].map(tenantOf)) left.set(tenant, (left.get(tenant) ?? 0) + 1);
    for (const [session, answered] of batches) {
      const tenant = tenantOf(session);
      const later = (left.get(tenant) ?? 0) - 1;
      left.set(tenant, later);
      // A thousand later ones of its tenant would displace it, unless it is in the list of those that fail.
      if (later < MOST_ENTRIES || answered.isFailing || this.#failing.has(session))
        addPart(tenants, session, partOfBatches(session, answered, skewMs, options));
    }
    const dropped = this.#dropped;
    this.#dropped = 0;
    return dropped;
  }
}

const notesOf = (tenants: Map<string, TenantNotes>, tenant: string): TenantNotes => {
  const notes = tenants.get(tenant) ?? { sessions: new Map(), calls: new Map() };
  tenants.set(tenant, notes);
  return notes;
};

const putBounded = <Value>(map: Map<string, Value>, most: number, key: string, value: Value): void => {
  map.delete(key);
  map.set(key, value);
  if (map.size <= most) return;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
};

export const addPart = (tenants: Map<string, TenantNotes>, sessionKey: string, part: SessionPart): void => {
  const { sessions } = notesOf(tenants, tenantOf(sessionKey));
  const hash = hashOf(sessionKey);
  putBounded(sessions, MOST_SESSIONS, hash, mergeParts(sessions.get(hash) ?? NO_SESSION, part));
};

const partOfBatches = (
  session: string,
  { firstAt, lastAt, calls, isFailing }: Answered,
  skewMs: number,
  { idOf, replica }: NoteOptions,
): SessionPart => ({
  ...NO_SESSION,
  ...{ firstAt: firstAt + skewMs, lastAt: lastAt + skewMs, calls, isFailing, id: idOf(session), replica },
});

const partOfFailure = (
  { event: { tool, code, session }, isLast }: Failed,
  at: number,
  { message, at: time }: FailedCall,
  { idOf, replica }: NoteOptions,
): SessionPart => ({
  ...NO_SESSION,
  ...{ firstAt: at, lastAt: at, failures: 1, isFailing: true, id: session === null ? null : idOf(session), replica },
  lastFailure: code === null ? null : { tool, code, message, at: time },
  blocked: isLast || code === 'retry_budget_exhausted' ? [[tool, at]] : [],
});

/** An event without its value, which may be a mebibyte; and an id, like a name, may be as long as what its caller sent. */
const lighten = (event: ToolInvoked): ToolInvoked => {
  const { valueJson, message, callId } = event;
  const idLength = typeof callId === 'string' ? callId.length : 0;
  if (valueJson.length + message.length + idLength <= LOOKAHEAD) return event;
  return { ...event, valueJson: 'null', message: keepShown(message, MAX_MESSAGE), callId: keepShown(callId, MAX_ID) };
};

/** A text of which so much is shown. Copied where it is cut: a part of a text would keep the whole of it. */
const keepShown = <Shown extends string | number | null>(shown: Shown, limit: number): Shown | string => {
  if (typeof shown !== 'string') return shown;
  const part = withLookahead(shown, limit);
  return part === shown ? shown : Buffer.from(part.toWellFormed()).toString();
};

const describeCall = (
  { event, name, reference }: Failed,
  at: number,
  { redactor, replica }: NoteOptions,
): FailedCall => {
  const { callId, session, code, fault } = event;
  return {
    reference,
    request_id: event.requestId,
    index: event.index,
    id: typeof callId === 'string' ? redactor.cut(callId, MAX_ID, 'log') : callId,
    session: session === null ? null : hashOf(session),
    tool: event.tool,
    // The name of a tool that is there is none of a secret.
    name: name === null || name === event.tool ? name : redactor.cut(name, MAX_NAME, 'log'),
    // Of a failure neither is null.
    code: code ?? 'internal_error',
    fault: fault ?? 'service',
    outcome: event.outcome,
    executed: event.executed,
    at: new Date(at).toISOString(),
    duration_ms: event.durationMs,
    message: redactor.cut(event.message, MAX_MESSAGE, 'log'),
    trace_id: event.traceId,
    key: event.key,
    replica,
  };
};
