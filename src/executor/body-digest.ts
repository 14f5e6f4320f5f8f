import { toPortableName } from '../contract/tool-names.ts';
import { toCanonicalText, toDigest } from '../json/canonical-text.ts';
import { parseJson } from '../json/parse-json.ts';
import type { Batch, Call } from './call.ts';

/**
 * What makes two bodies the same for one key: session, order, on_error and, call by call, id, name and canonical
 * arguments. Deadlines do not count: a client that tries again may allow another one. Nor does what the service makes
 * of a call, for a tool may come, change or go between two tries: arguments count as they were sent, and names by the
 * portable form that a tool's own name and the one a provider knows it by have in common.
 */
export const toBodyDigest = ({ request, calls }: Batch): string =>
  toDigest(JSON.stringify([request.sessionKey, request.order, request.onError, calls.map(toContent)]));

/** The same for a call whose id is its key. */
export const toCallDigest = (call: Call): string => toDigest(JSON.stringify(toContent(call)));

const toContent = ({ id, name, index, batch: { request } }: Call) => [
  id,
  name === null ? null : toPortableName(name),
  toSentArguments(request.calls[index]),
];

const toSentArguments = (entry: unknown): string => {
  if (typeof entry !== 'object' || entry === null) return toCanonicalText(entry);
  const sent: unknown = Reflect.get(entry, 'arguments');
  if (sent === undefined || sent === null) return '{}';
  if (typeof sent !== 'string') return toCanonicalText(sent);
  if (sent.trim() === '') return '{}';
  const parsed = parseJson(sent);
  return parsed.ok ? toCanonicalText(parsed.value) : sent;
};
