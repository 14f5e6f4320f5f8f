import type { Warning } from '../contract/tool-result.ts';
import type { BatchArguments } from './batch-arguments.ts';
import type { ReadyCall, ResolvedCall } from './resolve-call.ts';

export type Duplicates = {
  /** Index of a call → index of the earlier one it repeats word for word. */
  readonly copies: ReadonlyMap<number, number>;
  /** Indexes of calls that share their id with a different call. */
  readonly sharedIds: ReadonlySet<number>;
};

const NONE: Duplicates = { copies: new Map(), sharedIds: new Set() };

export const DUPLICATE_ID_WARNING: Warning = {
  code: 'duplicate_id',
  message: 'Another call of this batch has the same id; tell the results apart by their index.',
};

/**
 * Finds calls that say the same thing twice: same non-empty id, name and arguments, which are run once. Ids alone
 * say nothing: several models emit `call_0` for every call.
 */
export const findDuplicates = (calls: readonly ResolvedCall[], given: BatchArguments): Duplicates => {
  const byId = groupById(calls);
  if (byId === null) return NONE;
  const copies = new Map<number, number>();
  const sharedIds = new Set<number>();
  for (const group of byId.values()) {
    const distinct = markCopies(group, copies, given);
    if (distinct > 1) for (const { index } of group) sharedIds.add(index);
  }
  return { copies, sharedIds };
};

/** Enters the copies of one id, and gives how many different calls it stands for. Reads each call's arguments once. */
const markCopies = (group: readonly ResolvedCall[], copies: Map<number, number>, given: BatchArguments): number => {
  const originals = new Map<string | number, number>();
  for (const call of group) {
    const said = call.kind === 'ready' ? toSaid(call, given) : call.index;
    const original = originals.get(said);
    if (original === undefined) originals.set(said, call.index);
    else copies.set(call.index, original);
  }
  return originals.size;
};

// null where every id stands once, which is all but every batch.
const groupById = (calls: readonly ResolvedCall[]): ReadonlyMap<string | number, ResolvedCall[]> | null => {
  if (calls.length < 2) return null;
  const ids = new Set<string | number>();
  const identified = calls.filter(({ id }) => id !== null && id !== '');
  for (const { id } of identified) if (id !== null) ids.add(id);
  return ids.size === identified.length ? null : Map.groupBy(identified, ({ id }) => id ?? '');
};

/** What a call says, the same for calls that say the same. Arguments that cannot be read are as different as their texts. */
const toSaid = (call: ReadyCall, given: BatchArguments): string | number => {
  const parsed = given.read(call);
  if (parsed.ok) return `${call.tool.name}\n${given.textOf(call)}`;
  return typeof call.given === 'string' ? `${call.tool.name}\nnot read\n${call.given}` : call.index;
};
