import { findNearestNames } from '../contract/nearest-names.ts';
import type { Warning } from '../contract/tool-result.ts';

/** Everything that the envelope of POST /tool-calls may hold. In the query all but `calls` may stand as well. */
const ENVELOPE: ReadonlySet<string> = new Set([
  ...['session_id', 'round_id', 'calls', 'order', 'on_error', 'deadline_ms', 'format', 'raw'],
]);

// Words of other interfaces for the same thing, too far away to be found by their letters.
const OTHER_WORDS: ReadonlyMap<string, string> = new Map([
  ['timeout', 'deadline_ms'],
  ['timeoutms', 'deadline_ms'],
  ['turnid', 'round_id'],
]);

const squeeze = (name: string): string => name.toLowerCase().replace(/[^a-z]/g, '');
const BY_LETTERS: ReadonlyMap<string, string> = new Map([...ENVELOPE].map((name) => [squeeze(name), name]));

// A body may have thousands of members, each as long as it likes.
const MOST_LOOKED_AT = 16;
const MOST_LETTERS = 40;

/** Where a member stands. The message of a provider has members of its own, which may be spelled nearly like ours. */
type Place = 'envelope' | 'message' | 'query';

const findMeant = (name: string, place: Place, members: object): string | null => {
  const meant = name.length > MOST_LETTERS ? null : findNear(squeeze(name), place);
  if (meant === 'calls' && place !== 'envelope') return null;
  // Beside the one that it is near, it is something else.
  return meant === null || Object.hasOwn(members, meant) ? null : meant;
};

const findNear = (letters: string, place: Place): string | null => {
  const same = BY_LETTERS.get(letters) ?? null;
  if (same !== null || place === 'message') return same;
  const [near] = findNearestNames(letters, BY_LETTERS.keys(), 1);
  return BY_LETTERS.get(near ?? '') ?? OTHER_WORDS.get(letters) ?? null;
};

const NONE: readonly Warning[] = [];

/** A warning for each unknown member that is near one that is known: `sessionId`, `sesion_id`. Others are not spoken of. */
export const findMisspelledMembers = (members: Readonly<Record<string, unknown>>, place: Place): readonly Warning[] => {
  let warnings = NONE;
  let looked = 0;
  for (const name in members) {
    if (ENVELOPE.has(name)) continue;
    looked += 1;
    if (looked > MOST_LOOKED_AT) break;
    const meant = findMeant(name, place, members);
    if (meant !== null)
      warnings = [...warnings, toWarning(place === 'query' ? `'${name}' of the query` : `'${name}'`, `'${meant}'`)];
  }
  return warnings;
};

// Proxies drop names with an underscore, and Node leaves them as they are.
const HEADERS = { idempotency_key: 'Idempotency_Key', 'x-idempotency-key': 'X-Idempotency-Key' } as const;

/** The same for a header that was meant to be Idempotency-Key, where that itself is not there. */
export const findMisspelledHeaders = (headers: Readonly<Record<string, unknown>>): readonly Warning[] => {
  if (headers['idempotency-key'] !== undefined) return NONE;
  if (headers['x-idempotency-key'] !== undefined) return [toKeyWarning(HEADERS['x-idempotency-key'])];
  return headers['idempotency_key'] === undefined ? NONE : [toKeyWarning(HEADERS.idempotency_key)];
};

const toKeyWarning = (header: string): Warning => toWarning(`The header ${header}`, 'Idempotency-Key');

const toWarning = (what: string, meant: string): Warning => ({
  code: 'unknown_member',
  message: `${what} is not known and was ignored. Did you mean ${meant}?`,
});
