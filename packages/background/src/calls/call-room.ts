import type { CallSpec } from 'recourse-server/executor/pending-calls';
import { capResult, withoutRoom } from 'recourse-server/sessions/idempotency/result-cap';
import type { Weight } from 'recourse-server/sessions/share-kind';
import type { StoreSpace } from 'recourse-server/sessions/store-space';
import { RESULT_TTL_MS } from './call-kind.ts';

// Measured in Redis: a record and its entries in three lists and a queue, without the texts of the record.
const STORED_BYTES = 2300;
// Of a shorter result next to nothing is gained by leaving its value out.
const BRIEF_FROM_BYTES = 2048;

/** What a call takes in a store until it has ended, and without its arguments for a day more. */
export const weighStored = (spec: CallSpec): Weight => {
  const { bytes, endsAt } = weighStoredArguments(spec);
  return { bytes: STORED_BYTES + Buffer.byteLength(JSON.stringify({ ...spec, arguments: '' })) + bytes, endsAt };
};

/** What its end frees of that. */
export const weighStoredArguments = ({
  arguments: text,
  expiresAt,
}: Pick<CallSpec, 'arguments' | 'expiresAt'>): Weight => ({
  bytes: Buffer.byteLength(text),
  endsAt: expiresAt + RESULT_TTL_MS,
});

/** What a store keeps of a result, and what that takes. */
const weighResult = (result: string): { readonly result: string; readonly weight: Weight } => ({
  result,
  weight: { bytes: Buffer.byteLength(result), endsAt: Date.now() + RESULT_TTL_MS },
});

/** What is kept of a result, for which there is room then. What says how a call ended always has some. */
export const takeResultRoom = async (
  { take, add }: Pick<StoreSpace, 'take' | 'add'>,
  tenant: string,
  uncapped: string,
  maxResultBytes: number | undefined,
): Promise<ReturnType<typeof weighResult>> => {
  const whole = weighResult(capResult(uncapped, 0, { maxResultBytes }));
  const isBrief = whole.weight.bytes < BRIEF_FROM_BYTES;
  if (!isBrief && (await take(tenant, 'pending_results', whole.weight)) === null) return whole;
  const brief = isBrief ? whole : weighResult(withoutRoom(whole.result));
  add(tenant, brief.weight);
  return brief;
};
