import type { components } from '../../../../clients/typescript/src/generated/api.ts';
import { parseJson } from './json.ts';

export type UnknownCall = components['schemas']['UnknownCall'];
export type UnknownList = { readonly calls: readonly UnknownCall[]; readonly total: number };
export type Verdict = NonNullable<UnknownCall['verdict']>;

/** A write whose outcome is unknown, or was when it was listed. `isAsked`: an answer about it is waited for. */
export type Outcome = { call: UnknownCall; isListed: boolean; isAsked: boolean };

/** By effect id: a write that is unknown again keeps its place. */
export type Outcomes = Map<string, Outcome>;

// A tab may be left open for days.
const MAX_KEPT = 500;

/**
 * Takes a reading of the list. Every write keeps its place, also one that is not listed any more: no button moves while somebody
 * reaches for it.
 */
export const takeList = (outcomes: Outcomes, { calls, total }: UnknownList): void => {
  if (outcomes.size > MAX_KEPT) outcomes.clear();
  // Behind the last one of a list that is cut nothing is known.
  const end = total > calls.length ? (calls.at(-1)?.since ?? '') : null;
  for (const outcome of outcomes.values())
    outcome.isListed &&= isOpen(outcome) && end !== null && (outcome.call.since ?? '') >= end;
  for (const call of calls) {
    const before = outcomes.get(call.effect_id) ?? { isAsked: false };
    outcomes.set(call.effect_id, Object.assign(before, { call, isListed: true }));
  }
};

/** Whether it can be looked for, or settled. */
export const isOpen = ({ call, isListed }: Outcome): boolean => isListed && call.state === 'open';

/** How a call stands, in a few words. */
export const explainState = ({ call, isListed }: Outcome): string => {
  const { state, verdict, by } = call;
  if (verdict !== null) return `${VERDICTS[verdict]}, ${by === null ? 'as was found out' : FOUND_BY[by]}`;
  if (state === 'ended') return 'its run has ended and said how';
  if (state === 'running') return 'it runs again';
  return isListed ? 'unknown' : 'no longer listed: it is known how it ended, or 24 hours have passed';
};

const VERDICTS = { happened: 'it happened', did_not_happen: 'it did not happen' };
const FOUND_BY = { tool: 'found out by its tool', run: 'said by its run', person: 'settled by hand' };

const MAX_REASON = 500;

/** What is wrong with a verdict as it was typed; empty where nothing is. */
export const findMistake = ({ value = '', reason = '' }: Readonly<Record<string, string>>): string => {
  if (value.trim() !== '' && 'why' in parseJson(value)) return 'The value is not JSON: a text needs quotation marks.';
  if (reason.trim() === '') return 'A reason is required: say how you know.';
  return reason.trim().length > MAX_REASON ? `A reason has at most ${MAX_REASON} characters.` : '';
};

/** A verdict on a call as it was read, to be sent. The value goes as it was typed: no digit changes. */
export const buildVerdict = (
  { fence }: Pick<UnknownCall, 'fence'>,
  verdict: Verdict,
  { value = '', reason = '' }: Readonly<Record<string, string>>,
): { readonly headers: Readonly<Record<string, string>>; readonly body: string } => {
  const body = JSON.stringify({ verdict, reason: reason.trim() });
  return {
    headers: { 'content-type': 'application/json', 'if-match': `"${fence}"` },
    body: value.trim() === '' ? body : `${body.slice(0, -1)},"value":${value}}`,
  };
};
