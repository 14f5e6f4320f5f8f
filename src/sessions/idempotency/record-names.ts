import type { Decide, Records } from '../../store/record-store.ts';
import { type IdempotencyRecord, isUnused, setAlias } from './idempotency-kinds.ts';

/** One name at least. */
export type Names = readonly [first: string, ...others: string[]];

// A name leads to a record, and a record that gave way to another one leads there.
const MOST_STEPS = 4;

/**
 * Claims the record of a key that may have several names, and makes all of them lead to it before anything begins, so that
 * processes of which each knows only some of the names hold one record. The first name that two of them know decides: who finds
 * another record there gives up its own, in which nothing has begun. `id`: of the try that claims it.
 * Gives what the decision on the record came to, and the record's own name.
 */
export const reserveByNames = async <Claim extends { readonly kind: string }>(
  records: Records<IdempotencyRecord>,
  [first, ...others]: Names,
  id: string,
  decide: Decide<IdempotencyRecord, Claim>,
) => {
  let named = await reserveByName(records, first, decide);
  for (const other of others) {
    if (named.claim.kind !== 'held') return named;
    const { name } = named;
    const found = await records.update(other, (record) => bindName(record, other, name), 'claim');
    if (found === name) continue;
    const hasGivenWay = await records.update(name, (record) => giveWay(record, id, found), 'claim');
    if (hasGivenWay) named = await reserveByName(records, found, decide);
  }
  return named;
};

const reserveByName = async <Claim>(
  records: Records<IdempotencyRecord>,
  first: string,
  decide: Decide<IdempotencyRecord, Claim>,
) => {
  const decideOrFollow: Decide<IdempotencyRecord, Claim | string> = (record, now) =>
    record.alias === '' ? decide(record, now) : record.alias;
  let name = first;
  for (let step = 0; step < MOST_STEPS; step += 1) {
    // That no other try holds the record is true at once. The mark of the first write, or the commit, waits for the file.
    const claim = await records.update(name, decideOrFollow, 'claim');
    if (typeof claim !== 'string') return { claim, name };
    name = claim;
  }
  throw new Error('The names of a record lead in a circle.');
};

/** Makes a name lead to a record where it leads nowhere; gives the record that it leads to. */
const bindName = (record: IdempotencyRecord, name: string, to: string): string => {
  if (record.alias === '' && !isUnused(record)) return name;
  if (record.alias === '') setAlias(record, to);
  return record.alias;
};

/** Lets another record stand for this one, unless another try holds it now or a call of it has begun. */
const giveWay = (record: IdempotencyRecord, id: string, to: string): boolean => {
  if (record.holder !== id || record.calls.size > 0) return false;
  setAlias(record, to);
  return true;
};

/** What the first record says that one of these names leads to; null: none says anything. */
export const readByNames = async <Result>(
  records: Records<IdempotencyRecord>,
  names: Names,
  look: Decide<IdempotencyRecord, Result | null>,
): Promise<Result | null> => {
  const lookOrFollow: Decide<IdempotencyRecord, { readonly to: string } | { readonly result: Result | null }> = (
    record,
    now,
  ) => (record.alias === '' ? { result: look(record, now) } : { to: record.alias });
  const left: string[] = [...names];
  for (let step = 0; step < MOST_STEPS * names.length; step += 1) {
    const name = left.shift();
    if (name === undefined) break;
    const found = await records.read(name, lookOrFollow);
    if (found === null) continue;
    if ('to' in found) left.unshift(found.to);
    else if (found.result !== null) return found.result;
  }
  return null;
};

/** Changes the record that these names lead to, if there is one. */
export const updateByNames = async (
  records: Records<IdempotencyRecord>,
  names: Names,
  change: (record: IdempotencyRecord) => void,
): Promise<void> => {
  const changeOrFollow: Decide<IdempotencyRecord, string> = (record) => {
    if (record.alias === '' && !isUnused(record)) change(record);
    return record.alias;
  };
  for (const first of names)
    for (let [name, step] = [first, 0]; name !== '' && step < MOST_STEPS; step += 1)
      name = await records.update(name, changeOrFollow, 'long');
};
