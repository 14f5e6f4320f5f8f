import { toShownNumber } from '../policies/millionths.ts';
import type { Cap, OpenRule } from './open-rule.ts';
import type { Reserved } from './rule-decisions.ts';

// What the model reads of a rule that does not let its call run.

const wordsOf = ({ name, message }: OpenRule): string => message ?? `The rule ${name} does not let this call run.`;

/** `now`: Unix milliseconds of this machine. */
export const fullText = (rule: Cap, { left, until }: Pick<Reserved, 'left' | 'until'>, now: number): string => {
  const end = until === null ? '' : ` until ${toShownTime(until, now)}`;
  return `${wordsOf(rule)} ${toShownNumber(left)} of ${toShownNumber(rule.terms.max)} are left${end}.`;
};

/** `14:00 UTC`, with the date where it is another day. */
const toShownTime = (time: number, now: number): string => {
  const [text, today] = [new Date(time).toISOString(), new Date(now).toISOString()];
  const [day, clock] = [text.slice(0, 10), `${text.slice(11, 16)} UTC`];
  return today.startsWith(day) ? clock : `${day} ${clock}`;
};

export const missingSuccessText = (rule: Extract<OpenRule, { kind: 'requirement' }>): string =>
  rule.message === null
    ? `${wordsOf(rule)} '${rule.successOf}' has to succeed first, in this session and with the same arguments where the rule compares them.`
    : rule.message;

export const noSessionText = (rule: OpenRule): string =>
  `${wordsOf(rule)} It counts by session: send a session_id with the batch.`;

export const noAmountText = (rule: Cap): string =>
  `${wordsOf(rule)} It counts the argument at ${rule.pointer}: that must be a number of 0 or more, with at most six decimals.`;

export const RULE_STORE_TEXT =
  'Not executed: the store that counts for a rule is unavailable, and the call is refused without it. Try again in a few seconds, or say what could not be done.';

export const NO_ROOM_TEXT =
  'Not executed: the service has no room to count this call for a rule, and refuses it without that. Try later, or say what could not be done.';
