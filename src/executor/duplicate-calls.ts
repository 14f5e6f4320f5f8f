import { isDeepStrictEqual } from 'node:util';
import type { Warning } from '../contract/tool-result.ts';
import { parseArguments } from './parse-arguments.ts';
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
export const findDuplicates = (calls: readonly ResolvedCall[], source: string): Duplicates => {
  const byId = groupById(calls);
  if (byId === null) return NONE;
  const copies = new Map<number, number>();
  const sharedIds = new Set<number>();
  for (const group of byId.values()) {
    const originals = findOriginals(group, copies, source);
    if (originals.length > 1) for (const { index } of group) sharedIds.add(index);
  }
  return { copies, sharedIds };
};

const findOriginals = (
  group: readonly ResolvedCall[],
  copies: Map<number, number>,
  source: string,
): readonly ResolvedCall[] => {
  const originals: ResolvedCall[] = [];
  for (const call of group) {
    const original = originals.find((earlier) => isRepeat(earlier, call, source));
    if (original === undefined) originals.push(call);
    else copies.set(call.index, original.index);
  }
  return originals;
};

// null where every id stands once, which is all but every batch.
const groupById = (calls: readonly ResolvedCall[]): ReadonlyMap<string | number, ResolvedCall[]> | null => {
  if (calls.length < 2) return null;
  const ids = new Set<string | number>();
  const identified = calls.filter(({ id }) => id !== null && id !== '');
  for (const { id } of identified) if (id !== null) ids.add(id);
  return ids.size === identified.length ? null : Map.groupBy(identified, ({ id }) => id ?? '');
};

const isRepeat = (earlier: ResolvedCall, later: ResolvedCall, source: string): boolean =>
  earlier.kind === 'ready' &&
  later.kind === 'ready' &&
  earlier.tool === later.tool &&
  haveSameArguments(earlier, later, source);

const haveSameArguments = (earlier: ReadyCall, later: ReadyCall, source: string): boolean => {
  const one = parseArguments(earlier.given, source, earlier.tool);
  const other = parseArguments(later.given, source, later.tool);
  return one.ok && other.ok && isDeepStrictEqual(one.value, other.value);
};
