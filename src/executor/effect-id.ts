import { hash, randomBytes } from 'node:crypto';
import { toDigest } from '../json/canonical-text.ts';
import type { Call } from './call.ts';

const PREFIX = 'e_';
// 132 bits of a digest.
const LENGTH = 22;
const FORMAT = 'recourse-effect-1';

/**
 * Names the effect of a call, for its tool to send upstream and to look for afterwards: `e_` and 22 characters of base64url. Of a
 * pending call it follows from tenant and handle, under an Idempotency-Key from tenant, key and place, so that it is the same for
 * each repeat, in each process, and for no other tenant; else it is 128 random bits, made when they are first asked for.
 */
export const effectIdOf = (call: Call): string => {
  call.effectId ??=
    call.original === null ? PREFIX + (findName(call) ?? createRandomName()) : effectIdOf(call.original);
  return call.effectId;
};

/** The effect id of what no call asks for: no two are the same. */
export const createEffectId = (): string => PREFIX + createRandomName();

const createRandomName = (): string => randomBytes(16).toString('base64url');

const findName = (call: Call): string | null => {
  const { batch, index, recordKey, handle } = call;
  const { request } = batch;
  // Also where it is asked for under a key: its worker knows no other name of it.
  if (handle !== null) return digest([FORMAT, request.tenant, handle]);
  // Where its id is the key, it may stand in another place the next time.
  if (recordKey !== null) return digest([FORMAT, request.tenant, toIdempotencyKey(call), 0]);
  const key = request.idempotency?.key ?? null;
  return key === null ? null : digest([FORMAT, request.tenant, key, index]);
};

const digest = (name: readonly unknown[]): string => hash('sha256', JSON.stringify(name), 'base64url').slice(0, LENGTH);

/** What a call with a key hands on to its upstream; null where its caller chose none. Where its id is the key, a digest of tenant, session and id. */
export const toIdempotencyKey = ({ recordKey, index, batch: { request } }: Call): string | null => {
  if (recordKey !== null) return toDigest(recordKey);
  const key = request.idempotency?.key ?? null;
  return key === null ? null : `${key}#${index}`;
};
