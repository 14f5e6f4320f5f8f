import type { CallSpec } from '../executor/pending-calls.ts';
import { SMALL_TEXT, weighJson } from '../json/weigh-json.ts';

/** How often a call that is safe to repeat begins at most; then the tool itself is to blame. */
export const MOST_BEGINS = 3;

/** How long a worker that does not renew its lease holds a call, in milliseconds, by default. */
export const CALL_LEASE_MS = 6000;

/** How long the result of a call is kept after its end, in milliseconds. */
export const RESULT_TTL_MS = 24 * 60 * 60 * 1000;

/** Names the record of a call: its tenant and its handle, so that no tenant finds the call of another. */
export const toCallKey = (tenant: string, handle: string): string => `${tenant}:${handle}`;

/** The handle in the name of a record. */
export const handleOf = (key: string): string => key.slice(key.lastIndexOf(':') + 1);

/** Under whom a pending call counts: its API key; where it came without one, its tenant, or the address of who is anonymous. */
export const holderOf = ({ keyHash, caller }: Pick<CallSpec, 'keyHash' | 'caller'>): string =>
  keyHash === undefined ? caller : `key:${keyHash}`;

/** What somebody asked of a call: to end it where that does no harm, or in any case. */
export type CancelRequest = 'no' | 'asked' | 'forced';

/** How far a call has said that it is. */
export type CallProgress = {
  readonly done: number;
  readonly total: number | null;
  readonly message: string | null;
};

/** All that is kept of a pending call. */
export type CallRecord = {
  readonly spec: CallSpec;
  /** `queued`: no worker holds it, or the one that does has not begun. */
  readonly state: 'queued' | 'running' | 'ended';
  /** How often its handler has begun, or may have. */
  readonly begins: number;
  readonly cancel: CancelRequest;
  readonly progress: CallProgress | null;
  /** When a worker first gave it back for want of its tool, in Unix milliseconds; null: none has. */
  readonly lackedSince: number | null;
  /** JSON text; null before the end. */
  readonly result: string | null;
};

/** A call that a worker holds: only under this number may it write. */
export type CallLease = { readonly key: string; readonly fence: number };

export type Claim =
  | { readonly kind: 'held'; readonly lease: CallLease; readonly record: CallRecord }
  /** Another worker holds it, for so long if it dies now. */
  | { readonly kind: 'busy'; readonly retryAfterMs: number }
  | { readonly kind: 'ended' }
  /** Nothing is known of it: it has expired, or the store has lost it. */
  | { readonly kind: 'gone' };

export type Creation =
  | { readonly kind: 'created' }
  /** There is a record by this name: an earlier try of the same batch made it. */
  | { readonly kind: 'exists' }
  /** The same call of its session is pending, or has just ended, under this key: none was made. */
  | { readonly kind: 'same'; readonly key: string }
  | { readonly kind: 'full'; readonly of: 'session' | 'key' | 'service' | 'memory' | 'store'; readonly limit: number };

/** A call that has not ended, as lists name it. `keyHash`: of the API key that it came with; null: it came without one. */
export type ListedCall = { readonly key: string; readonly keyHash: string | null };

/** `late`: after its worker may have lost the call. `unknown`: the result says that nobody knows how the call ended. */
export type CommitKind = { readonly late: boolean; readonly unknown: boolean };

/** Hears that something has happened to a call: it ended, its progress or its cancellation changed. */
export type CallListener = (key: string) => void;

/** Hears of the parts of one call. `ready` resolves when they arrive, also where they never will; it never rejects. */
export type PartsWatch = { readonly ready: Promise<void>; readonly stop: () => void };

/**
 * The records of pending calls: the truth about each, whatever a queue says. Each step is atomic. All reject when the store
 * fails. A record that has not ended is never dropped for want of room: there `create` answers `full`.
 */
export type CallRecords = {
  /** `process`: gone when this process ends. `file`: the next process on this machine goes on with them. `durable`: others do. */
  readonly durability: 'durable' | 'file' | 'process';
  /** Whether memory is held here for the arguments of all calls that have not ended: a worker need not hold it again. */
  readonly holdsArguments: boolean;
  /** How long a worker that does not renew its lease holds a call, in milliseconds. It renews it four times as often. */
  readonly leaseMs: number;
  readonly create: (key: string, spec: CallSpec) => Promise<Creation>;
  /**
   * Says that whoever made the record knows of it. One that is not confirmed is dropped after a minute, and never queued by a
   * sweep: its caller was told that nothing was accepted. `gone`: there is none to confirm.
   */
  readonly confirm: (key: string) => Promise<'confirmed' | 'gone'>;
  /**
   * Takes back a call whose caller was told that nothing was accepted, so that it never runs and another try of its batch
   * finds nothing. One that another try has created as well stays; one that a worker has taken is cancelled instead.
   */
  readonly withdraw: (key: string) => Promise<void>;
  /** null: unknown. */
  readonly find: (key: string) => Promise<CallRecord | null>;
  /** The same of a call that was confirmed, with empty arguments: they may be long. */
  readonly describe: (key: string) => Promise<CallRecord | null>;
  /** All calls that have not ended, a part at a time; of those that begin or end meanwhile some may be left out or have ended. */
  readonly list: () => AsyncIterable<readonly ListedCall[]>;
  /**
   * What tells whether something has happened to each of these calls, for much less than `find`: '' as long as it has neither
   * ended nor said how far it is, else a text that changes with that; a call that is unknown has ended.
   */
  readonly versions: (keys: readonly string[]) => Promise<readonly string[]>;
  /** Takes the call for one worker. `begins` above 0: a worker that began it has died. */
  readonly claim: (key: string) => Promise<Claim>;
  /** Notes that the handler begins, before it does. `lost`: another worker holds it, and it must not run. */
  readonly begin: (lease: CallLease) => Promise<'held' | 'lost'>;
  /** Holds the call for another lease, and keeps how far it is; tells whether somebody wants it ended. */
  readonly renew: (
    lease: CallLease,
    progress: CallProgress | null,
  ) => Promise<{ readonly state: 'held' | 'lost'; readonly cancel: CancelRequest }>;
  /**
   * Gives back a call that did not run: as if it had not begun. `lackedAt`: now, in Unix milliseconds, where its tool is
   * lacking; left out, it is no longer known to be.
   */
  readonly release: (lease: CallLease, lackedAt?: number) => Promise<void>;
  /**
   * Ends the call. A late end replaces only a result that says that nobody knows how the call ended.
   */
  readonly commit: (lease: CallLease, result: string, how: CommitKind) => Promise<'held' | 'lost'>;
  /** Notes that somebody wants it ended, and tells what is known of it now; null: unknown. */
  readonly cancel: (key: string, how: Exclude<CancelRequest, 'no'>) => Promise<CallRecord | null>;
  /** The calls of a session that have not ended, oldest first. */
  readonly ofSession: (sessionKey: string) => Promise<readonly string[]>;
  /** The pending call of a session with this fingerprint; null: none. */
  readonly findSame: (sessionKey: string, fingerprint: string) => Promise<string | null>;
  /** Calls that nobody has looked at for a while and that have not ended: at most so many, each once in a while. */
  readonly due: (most: number) => Promise<readonly string[]>;
  /** Hears of calls until it is stopped. Best effort: who waits reads again once a second. */
  readonly watch: (listener: CallListener) => () => void;
  /**
   * Sends what the handler of a held call shows, JSON text without secrets, to whoever watches the call now, in any process.
   * Best effort: kept nowhere, dropped rather than waited for. Never throws.
   */
  readonly publishPart: (lease: CallLease, valueJson: string) => void;
  /** Hears of the parts of a call in their order, from `ready` until it is stopped. */
  readonly watchParts: (key: string, listener: (valueJson: string) => void) => PartsWatch;
};

/** What the arguments of a call take while it runs, beside their text, in bytes: their value, and its copy for a tool host. */
export const weighArguments = ({ arguments: text }: Pick<CallSpec, 'arguments'>): number =>
  text.length <= SMALL_TEXT ? 0 : weighJson(text);
