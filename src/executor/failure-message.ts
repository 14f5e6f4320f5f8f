import { FAILURE_POLICY } from '../contract/failure.ts';
import { cutText, endSentence } from '../tools/describe-value.ts';
import type { Failure } from './failure.ts';
import { budgetSuffix, exhaustedSuffix, MAX_MESSAGE_LENGTH, NO_RETRIES_FOR_UNKNOWN_NAMES } from './failure-text.ts';
import type { Budget } from './session-store.ts';
import { withoutAdvice } from './without-advice.ts';

/** No hint is longer, so that the message before it keeps half of its room. */
export const MAX_HINT_LENGTH = 1000;

/** The budget's words behind a message, with the space before them; and whether they take the place of all advice to try again. */
export type Suffix = { readonly text: string; readonly replaces: 'nothing' | 'advice' };
export const NO_SUFFIX: Suffix = { text: '', replaces: 'nothing' };

/** What the model reads: never empty, within 2 000 characters, the budget's word last. */
export const toMessage = ({ message, hint }: Failure, { text, replaces }: Suffix): string => {
  const limit = MAX_MESSAGE_LENGTH - text.length;
  if (replaces === 'nothing') return fitMessage(text === '' ? message : endSentence(message), hint, limit) + text;
  const happened = withoutAdvice(message, hint);
  return happened === '' ? text.trimStart() : fitMessage(endSentence(happened), null, limit) + text;
};

/**
 * The budget's word on a failure. Where another try would be refused for want of retries, it says so in the place of all
 * advice to try again. Else it speaks only of a failure that was charged; and never of one retry that is left where the
 * call may have taken effect: that would ask for it twice.
 */
export const toSuffix = (failure: Failure, name: string | null, budget: Budget | undefined): Suffix => {
  if (budget === undefined || failure.fatal) return NO_SUFFIX;
  const { charges } = FAILURE_POLICY[failure.code];
  const { outcome } = failure;
  if (budget.remaining === 0 && (outcome === 'retry' || outcome === 'unknown'))
    return name === null ? UNKNOWN_NAMES : { text: exhaustedSuffix(name, outcome), replaces: 'advice' };
  if (charges === false || outcome !== 'retry') return NO_SUFFIX;
  const text = budgetSuffix(budget);
  return text === '' ? NO_SUFFIX : { text, replaces: 'nothing' };
};

// The names that such a message lists may be called all the same.
const UNKNOWN_NAMES: Suffix = { text: NO_RETRIES_FOR_UNKNOWN_NAMES, replaces: 'nothing' };

/** A message within `limit` characters. One that ends with its hint, and perhaps a full stop, is cut before the hint. */
const fitMessage = (message: string, hint: string | null, limit: number): string => {
  if (message.length <= limit) return message;
  const end = hint !== null && message.endsWith(`${hint}.`) ? `${hint}.` : hint;
  if (end === null || !message.endsWith(end)) return cutText(message, limit);
  return `${cutText(message.slice(0, -end.length).trimEnd(), limit - end.length - 1)} ${end}`;
};
