import type { RenderedResult, RetryState } from 'recourse-server/contract/tool-result';
import type { ObservedResult } from 'recourse-server/routes/dialects';
import { describeParts, mayContainMarkedMedia, type Part, readParts, toTextPart } from './media.ts';

/** The value of a result, parsed if need be: a model is mostly told its text. */
export const parsedValueOf = ({ value, valueJson }: ObservedResult): unknown =>
  valueJson === undefined ? value : JSON.parse(valueJson);

/** Reads a result that this service has written. Where it is a plain success, its object or list is not parsed. */
export const readObservedResult = ({ json, plainValueJson: valueJson }: RenderedResult): ObservedResult => {
  if (valueJson === null) return JSON.parse(json);
  const isUnparsed = valueJson.startsWith('{') || valueJson.startsWith('[');
  // Spelled out: a getter or a spread would cost more than all the rest.
  return isUnparsed
    ? {
        success: true,
        outcome: 'success',
        executed: 'yes',
        value: undefined,
        message: '',
        error: null,
        retry: null,
        valueJson,
      }
    : { ...PLAIN, value: JSON.parse(valueJson) };
};

const PLAIN = { success: true, outcome: 'success', executed: 'yes', message: '', error: null, retry: null } as const;

const MAX_DETAILS_LENGTH = 2000;

const FOUND_NOTHING = 'Nothing was found.';
const RETURNED_NOTHING = 'The tool succeeded and returned nothing.';
const UNSURE = 'It may or may not have taken effect.';
const CHECK_FIRST = `${UNSURE} Check before calling it again.`;
const NO_USE = 'Repeating this call will not help.';

/**
 * The text a model reads for a result, never blank. A failure's starts with `ERROR: ` and its code, because not every
 * provider's message can say that it is one; a success's starts with whatever the tool answered. That of a pending call
 * is its message, which says that the call has not ended and must not be repeated; that of a dry run its message, and its preview.
 */
export const explainResult = (result: ObservedResult): string =>
  result.success ? explainSuccess(result, findValueParts(result)) : explainUnsuccessful(result);

const explainUnsuccessful = (result: ObservedResult): string => {
  if (hasFailed(result)) return explainFailure(result);
  const preview = result.outcome === 'checked' ? describeValue(result, null) : '';
  return [result.message, preview, ...listWarnings(result)].filter(isNotBlank).join('\n');
};

/** Whether it is a failure: not what has not ended, nor what was not to run. */
export const hasFailed = ({ success, outcome }: ObservedResult): boolean =>
  !success && outcome !== 'pending' && outcome !== 'checked';

/** What a success says and shows, in order, where there are media in its value; else null. */
export const readResultParts = (result: ObservedResult): readonly Part[] | null =>
  result.success ? surroundParts(result, findValueParts(result)) : null;

/** Text and parts at once: the value is looked through for media but once. */
export const observe = (result: ObservedResult): { readonly text: string; readonly parts: readonly Part[] | null } => {
  if (!result.success) return { text: explainUnsuccessful(result), parts: null };
  const inside = findValueParts(result);
  const parts = surroundParts(result, inside);
  return { text: parts === null ? explainSuccess(result, inside) : describeParts(parts), parts };
};

const surroundParts = (result: ObservedResult, inside: readonly Part[] | null): readonly Part[] | null => {
  if (inside === null) return null;
  const around = [pickMessage(result)].filter(isNotBlank);
  return [...around.map(toTextPart), ...inside, ...listWarnings(result).map(toTextPart)];
};

// Most values have no media, and are not parsed to find that out.
const findValueParts = (result: ObservedResult): readonly Part[] | null =>
  result.valueJson !== undefined && !mayContainMarkedMedia(result.valueJson) ? null : readParts(parsedValueOf(result));

/** Whether a success's text is its value and nothing else. */
export const isValueAlone = (result: ObservedResult): boolean =>
  result.success &&
  ((result.message === '' && result.empty !== true) || saysItself(result)) &&
  listWarnings(result).length === 0 &&
  !hasNothing(result);

/** Whether the value holds the message: a model need not read it twice. */
const saysItself = ({ message, value, valueJson }: ObservedResult): boolean =>
  message !== '' &&
  valueJson === undefined &&
  typeof value === 'object' &&
  value !== null &&
  'display' in value &&
  value.display === message;

const explainSuccess = (result: ObservedResult, parts: readonly Part[] | null): string => {
  const valueText = describeValue(result, parts);
  if (isValueAlone(result)) return valueText;
  const message = pickMessage(result);
  const lines = [message, valueText === message.trim() ? '' : valueText].filter(isNotBlank);
  if (lines.length === 0) lines.push(RETURNED_NOTHING);
  return [...lines, ...listWarnings(result)].join('\n');
};

const pickMessage = ({ message, empty }: ObservedResult): string =>
  message.trim() === '' && empty === true ? FOUND_NOTHING : message;

/** A text as it is, anything else as JSON, media by what they are; "" for what says nothing. */
const describeValue = (result: ObservedResult, parts: readonly Part[] | null): string => {
  if (hasNothing(result)) return '';
  if (parts !== null) return describeParts(parts);
  if (result.valueJson !== undefined) return result.valueJson;
  return typeof result.value === 'string' ? result.value : JSON.stringify(result.value);
};

const hasNothing = (result: ObservedResult): boolean =>
  result.valueJson === undefined ? isNothing(result.value) : result.valueJson === '{}' || result.valueJson === '[]';

const isNothing = (value: unknown): boolean => {
  if (value === null || value === undefined) return true;
  if (typeof value === 'string') return value.trim() === '';
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === 'object' && Object.keys(value).length === 0;
};

const listWarnings = ({ warnings, truncated }: ObservedResult): readonly string[] => {
  if (warnings === undefined) return truncated === true ? ['Warning: the result is truncated.'] : [];
  return warnings.filter(({ code }) => !FOR_PROGRAMS.test(code)).map(({ message }) => `Warning: ${message}`);
};

// About keys and ids, which a model neither sends nor sees.
const FOR_PROGRAMS = /^(idempotency_\w+|duplicate_id)$/;

const explainFailure = (result: ObservedResult): string => {
  const { error, message } = result;
  return [
    `ERROR: ${error?.code ?? 'internal_error'}: ${message}`,
    explainDetails(result),
    adviseOn(result),
    hasNoRetry(result) ? '' : explainWait(message, error?.retry_after_ms ?? null),
    explainBudget(result),
    ...listWarnings(result),
  ]
    .filter(isNotBlank)
    .join('\n');
};

// A tool may have put more into its failure than a sentence.
const explainDetails = (result: ObservedResult): string => {
  const text = describeValue(result, findValueParts(result));
  return text === '' ? '' : `Details: ${cut(text, MAX_DETAILS_LENGTH)}`;
};

const adviseOn = (result: ObservedResult): string => {
  const { message, outcome, executed } = result;
  if (executed === 'maybe' && outcome !== 'retry') {
    if (ADVISED.test(message)) return '';
    return hasNoRetry(result) ? UNSURE : CHECK_FIRST;
  }
  return outcome === 'failed' ? NO_USE : '';
};

const ADVISED = /may or may not|before (?:calling it|posting) again/i;

const hasNoRetry = ({ retry }: ObservedResult): boolean => retry?.remaining === 0;

const explainWait = (message: string, retryAfterMs: number | null): string => {
  if (retryAfterMs === null || retryAfterMs <= 0) return '';
  const seconds = Math.ceil(retryAfterMs / 1000);
  const isReported = new RegExp(`\\b(?:${seconds}${seconds === 1 ? '|one' : ''}) (?:more )?seconds?\\b`).test(message);
  if (isReported) return '';
  return `Wait ${seconds === 1 ? 'one second' : `${seconds} seconds`} before calling it again.`;
};

/** What is left of the budget, where calling again is on the table and the message has not said it already. */
const explainBudget = ({ message, outcome, retry }: ObservedResult): string => {
  if (retry === null || (outcome !== 'retry' && outcome !== 'unknown')) return '';
  // One that is left would ask for what may have taken effect.
  if (outcome === 'unknown' && retry.remaining > 0) return '';
  const isSaid = message.endsWith(' one retry is left.') || message.includes(' No retries are left for ');
  return isSaid ? '' : explainRetries(retry);
};

const explainRetries = ({ remaining, limit, limited_by: limitedBy }: RetryState): string => {
  if (remaining === 0) return 'No retries are left.';
  return limitedBy === 'session'
    ? `Retries left in this session: ${remaining}.`
    : `Retries left: ${remaining} of ${limit}.`;
};

const isNotBlank = (text: string): boolean => text.trim() !== '';

const cut = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length).replace(/[\uD800-\uDBFF]$/, '')}…`;
