import type { components } from '../../../../clients/typescript/src/generated/api.ts';
import { parseJson } from './json.ts';
import { type Kept, takeReading } from './kept-list.ts';

export type UnknownCall = components['schemas']['UnknownCall'];
export type UnknownList = { readonly calls: readonly UnknownCall[]; readonly total: number };
export type Verdict = NonNullable<UnknownCall['verdict']>;

/** A write whose outcome is unknown, or was when it was listed. */
export type Outcome = Kept<UnknownCall>;

/** By effect id: a write that is unknown again keeps its place. */
export type Outcomes = Map<string, Outcome>;

/** Takes a reading of the list. */
export const takeList = (outcomes: Outcomes, { calls, total }: UnknownList): void =>
  takeReading(outcomes, calls, total, ({ effect_id: id, since, state }) => ({ id, since, isOpen: state === 'open' }));

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
