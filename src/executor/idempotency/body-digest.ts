import { toPortableName } from '../../contract/portable-name.ts';
import type { Batch } from '../batch.ts';
import { toCanonicalText, toDigest } from '../canonical-text.ts';
import { parseJson } from '../parse-json.ts';
import type { ResolvedCall } from '../resolve-call.ts';

/**
 * What makes two bodies the same for one key: session, order, on_error and, call by call, id, name and canonical
 * arguments. Deadlines do not count: a client that tries again may allow another one. Nor does what the service makes
 * of a call, for a tool may come, change or go between two tries: arguments count as they were sent, and names by the
 * portable form that a tool's own name and the one a provider knows it by have in common.
 */
export const toBodyDigest = (batch: Batch, calls: readonly ResolvedCall[]): string => {
  const said = calls.map(({ id, name, index }) => [
    id,
    name === null ? null : toPortableName(name),
    toSaid(batch.calls[index]),
  ]);
  return toDigest(JSON.stringify([batch.sessionKey, batch.order, batch.onError, said]));
};

const toSaid = (entry: unknown): string => {
  if (typeof entry !== 'object' || entry === null) return toCanonicalText(entry);
  const given: unknown = Reflect.get(entry, 'arguments');
  if (given === undefined || given === null) return '{}';
  if (typeof given !== 'string') return toCanonicalText(given);
  if (given.trim() === '') return '{}';
  const parsed = parseJson(given);
  return parsed.ok ? toCanonicalText(parsed.value) : given;
};
