import { hash, randomBytes, randomUUID } from 'node:crypto';
import type { DueEntry, DueIndex } from '@recourse/background/jobs/due-index';
import { toDigest } from 'recourse-server/json/canonical-text';
import { parseObject } from 'recourse-server/sessions/idempotency/result-cap';
import type { Decide, RecordStore, Records } from 'recourse-server/store/record-store';
import type { Sealing, SealPlace } from 'recourse-server/store/seals';
import type * as z from 'zod';
import {
  type Asked,
  ask,
  type Claimed,
  claim,
  type Decided,
  decide,
  describeAt,
  markReleased,
  point,
  redirect,
  refresh,
  unclaim,
  withdraw,
} from './approval-decisions.ts';
import {
  type Approval,
  ApprovalSpec,
  approvalKeyOf,
  approvalKind,
  pointerKind,
  type StoredApproval,
  type StoredPointer,
  Verdict,
} from './approval-kind.ts';

export type ApprovalStoreOptions = {
  readonly store: RecordStore;
  /** Approvals that wait, or whose pending call is to be told how they ended, and when each is looked at next. */
  readonly live: DueIndex;
  readonly sealing: Sealing;
};

/** An approval, what it is about, and what was said of it. */
export type OpenApproval = {
  readonly key: string;
  readonly approval: Approval;
  readonly spec: ApprovalSpec;
  readonly verdict: Verdict | null;
};

// 128 bits.
const ID_CHARACTERS = 22;
const ID_BYTES = 16;

/** The id of the approval of a pending call: the same in each try of its batch. */
export const approvalIdOfHandle = (tenant: string, handle: string): string =>
  `a_${hash('sha256', JSON.stringify(['recourse-approval-id-1', tenant, handle]), 'base64url').slice(0, ID_CHARACTERS)}`;

export const createApprovalId = (): string => `a_${randomBytes(ID_BYTES).toString('base64url')}`;

/** What leads a repeat of a call: its tenant, its session or else its key, and its digest, in which the session is. */
export const pointerKeyOf = (
  { tenant, sessionKey, keyHash, caller }: Pick<ApprovalSpec, 'tenant' | 'sessionKey' | 'keyHash' | 'caller'>,
  digest: string,
): string => `${tenant}:${toDigest(`${sessionKey === null ? (keyHash ?? caller ?? '') : ''}\n${digest}`)}`;

const SOON_MS = 1000;
// The clock of the store may be a little behind.
const LEAST_MS = 50;

/** The approvals of calls: each step is one decision on a record. What returns a promise rejects where the store fails. */
export class ApprovalStore {
  readonly live: DueIndex;
  readonly #approvals: Records<StoredApproval>;
  readonly #pointers: Records<StoredPointer>;
  readonly #sealing: Sealing;
  readonly #now: () => number;

  constructor({ store, live, sealing }: ApprovalStoreOptions) {
    this.#approvals = store.open(approvalKind);
    this.#pointers = store.open(pointerKind);
    this.live = live;
    this.#sealing = sealing;
    this.#now = store.now;
  }

  /** Asks under this id, or tells where the approval of it stands; `full`: too many of the tenant wait. */
  async ask(id: string, spec: ApprovalSpec, ifOver: 'anew' | 'tell'): Promise<Asked | 'full'> {
    const key = approvalKeyOf(spec.tenant, id);
    // Entered first: an entry without a record is taken out when it is found.
    const entered = await this.live.enter(entryOf(key), spec.expiresMs);
    if (entered === 'holder_full' || entered === 'full') return 'full';
    const creation = randomUUID();
    const sealed = this.#seal(key, creation, 's', JSON.stringify(spec));
    const { digest, expiresMs } = spec;
    const asked = await this.#update(key, ask({ creation, spec: sealed, digest, expiresMs }, ifOver));
    if (!asked.isNew && entered === 'entered') await this.#enterFor(key, asked.approval);
    return asked;
  }

  /** What leads a repeat to an approval: `id`, unless it leads to another one than `over`. */
  async point(key: string, id: string, over: string | null, expiresMs: number): Promise<string> {
    return this.#pointers.update(key, point(id, over, expiresMs), 'long');
  }

  /** Has a repeat be led to this approval, whatever it was led to. */
  async redirect(key: string, id: string, expiresMs: number): Promise<void> {
    await this.#pointers.update(key, redirect(id, expiresMs), 'always');
  }

  /** Where a repeat is led to; null: nowhere. */
  async pointed(key: string): Promise<string | null> {
    return this.#pointers.read(key, ({ id }) => id);
  }

  claim(key: string, by: string, verdict: string | null): Promise<Claimed> {
    return this.#update(key, claim(by, verdict));
  }

  async unclaim(key: string, by: string): Promise<void> {
    await this.#approvals.update(key, unclaim(by), 'always');
  }

  async decide(
    { key, approval: { creation } }: OpenApproval,
    read: string,
    { state, verdict }: { readonly state: 'granted' | 'denied'; readonly verdict: Verdict },
  ): Promise<Decided> {
    const sealed = this.#seal(key, creation, 'd', JSON.stringify(verdict));
    await this.#lookSoon(key);
    return this.#update(key, decide(read, { state, digest: verdict.digest, verdict: sealed }));
  }

  async withdraw(key: string, ...terms: Parameters<typeof withdraw>): Promise<ReturnType<ReturnType<typeof withdraw>>> {
    await this.#lookSoon(key);
    return this.#update(key, withdraw(...terms));
  }

  /** Brings it up to date; null: there is none. */
  refresh(key: string): Promise<Approval | null> {
    return this.#update(key, refresh);
  }

  /** Notes that who waits for it knows, and looks no more at it; tells the first who says so. */
  async markReleased(key: string): Promise<boolean> {
    const isFirst = await this.#approvals.update(key, markReleased, 'always');
    await this.live.leave(entryOf(key));
    return isFirst;
  }

  /** null: there is none, or it does not open here. */
  async find(key: string): Promise<OpenApproval | null> {
    const approval = await this.#approvals.read(key, describeAt);
    if (approval === null) return null;
    const { creation } = approval;
    const spec = this.#open(key, creation, 's', approval.spec, ApprovalSpec);
    const verdict = approval.verdict === null ? null : this.#open(key, creation, 'd', approval.verdict, Verdict);
    if (spec === null || (approval.verdict !== null && verdict === null)) return null;
    return { key, approval, spec, verdict };
  }

  /** Until it is over, in milliseconds. */
  leftMs({ endsAt }: Pick<Approval, 'endsAt'>): number {
    return Math.max(LEAST_MS, endsAt - this.#now());
  }

  /** Whether there is a record, also where it does not open here. */
  async has(key: string): Promise<boolean> {
    return (await this.#approvals.read(key, ({ approval }) => approval !== null)) === true;
  }

  #seal(key: string, creation: string, part: string, text: string): string {
    return this.#sealing.seals.seal(placeOf(key, creation, part), text);
  }

  #open<Value>(key: string, creation: string, part: string, text: string, schema: z.ZodType<Value>): Value | null {
    const opened = this.#sealing.seals.open(placeOf(key, creation, part), text);
    const read = 'text' in opened ? schema.safeParse(parseObject(opened.text)).data : undefined;
    if (read !== undefined) return read;
    this.#sealing.onUnopened('call', 'problem' in opened ? opened.problem : 'damaged');
    return null;
  }

  /** Who decides may die before the call that waits is told: then a sweep tells it, and not when its time is over. */
  #lookSoon(key: string): Promise<void> {
    return this.live.enterAgain(entryOf(key), SOON_MS);
  }

  /** Of one that was asked for before, whose entry was gone. */
  async #enterFor(key: string, approval: Approval): Promise<void> {
    if (approval.state === 'waiting') await this.live.enterAgain(entryOf(key), this.leftMs(approval));
    else if (approval.isReleased) await this.live.leave(entryOf(key));
    else await this.live.enterAgain(entryOf(key), SOON_MS);
  }

  async #update<Result>(key: string, step: Decide<StoredApproval, Result>): Promise<Result> {
    return this.#approvals.update(key, step, 'long');
  }
}

/** The entry of a record: its holder is its tenant. */
export const entryOf = (key: string): DueEntry => ({ key, holder: key.slice(0, key.lastIndexOf(':')) });

const placeOf = (key: string, creation: string, part: string): SealPlace => ({
  ...{ kind: 'approval', key, life: creation, part },
});
