import type { Issue } from '../contract/tool-result.ts';
import { parseJson } from '../json/parse-json.ts';
import { MAX_DESCRIBED, onOneLine } from '../tools/describe-value.ts';
import { type Call, isReady, toArgumentsJson } from './call.ts';
import type { CallOutcome, Failure } from './call-outcome.ts';
import { echoName, invalidArgumentsText, MAX_HINT_LENGTH, MAX_MESSAGE_LENGTH, MAX_NAME_ECHO } from './failure-text.ts';
import { toPreviewLength } from './json-proof.ts';
import { MAX_ISSUE_LENGTH, mapChanged } from './outcome.ts';
import type { Redactor, SentText } from './redactor.ts';

type Cut = (text: string, limit: number) => string;

/**
 * The outcome of a call as the log, the journal and subscribers get it: without secrets, and no text longer than the model
 * reads. Where the caller itself sent a secret it reads another one, `forCaller`, in which that stays: from its absence the
 * caller could learn that it is a secret.
 */
export const redactOutcome = (outcome: CallOutcome, call: Call): CallOutcome => {
  if (outcome === call.batch.cleanOutcome) return outcome;
  const redacted = redactAll(outcome, call);
  if (redacted === outcome) {
    if (outcome.kind === 'failure') call.batch.cleanOutcome = outcome;
    return outcome;
  }
  const sent = readSent(call);
  if (!call.batch.services.redactor.containsSecret(sent)) return redacted;
  return { ...redacted, forCaller: redactAll(outcome, call, () => sent) };
};

/** What a caller sent of a call, as text. */
export const readSent = (call: Call): string =>
  `${call.id ?? ''}\n${call.name ?? ''}\n${isReady(call) ? toArgumentsJson(call) : ''}`;

const redactAll = (outcome: CallOutcome, call: Call, sent?: SentText): CallOutcome => {
  const { redactor, maxResultBytes } = call.batch.services;
  const cut: Cut = (text, limit) => redactor.cut(text, limit, 'result', sent);
  const valueJson = redactValue(outcome, toPreviewLength(maxResultBytes), redactor, sent);
  if (outcome.kind === 'failure') {
    const failure = redactFailure(outcome.failure, call, cut, (text) => redactor.text(text, 'result', sent));
    const isClean = failure === outcome.failure && valueJson === outcome.valueJson;
    return isClean ? outcome : { ...outcome, valueJson, failure };
  }
  const { message, warnings } = outcome;
  if (message === '' && warnings.length === 0)
    return valueJson === outcome.valueJson ? outcome : { ...outcome, valueJson };
  return {
    ...outcome,
    valueJson,
    message: redactor.cutToolText(message, MAX_MESSAGE_LENGTH, 'result', sent),
    warnings: warnings.map((warning) => ({ ...warning, message: cut(warning.message, MAX_MESSAGE_LENGTH) })),
  };
};

const redactValue = (outcome: CallOutcome, limit: number, redactor: Redactor, sent?: SentText): string => {
  const { valueJson } = outcome;
  if (valueJson === 'null') return valueJson;
  const isBeginning = outcome.kind === 'success' && outcome.marks.includes('truncated');
  const preview = isBeginning ? parseJson(valueJson) : null;
  return preview?.ok && typeof preview.value === 'string'
    ? JSON.stringify(redactor.cutToolText(preview.value, limit, 'result', sent))
    : redactor.value(valueJson, 'result', sent);
};

const redactFailure = (failure: Failure, call: Call, cut: Cut, redactText: (text: string) => string): Failure => {
  const issues = mapChanged(failure.issues, (issue) => redactIssue(issue, cut));
  const message =
    failure.code === 'invalid_arguments' && isReady(call) && issues.length > 0
      ? invalidArgumentsText(call.tool, issues, failure.issueCount)
      : cutBeforeHint(withShownName(failure.message, call.name, cut), failure.hint, cut);
  const type = failure.type === failure.code ? failure.type : redactText(failure.type);
  const hint = failure.hint === null ? null : cut(failure.hint, MAX_HINT_LENGTH);
  const isClean =
    issues === failure.issues && message === failure.message && type === failure.type && hint === failure.hint;
  return isClean ? failure : { ...failure, message, type, hint, issues };
};

/** Of a message that is too long and ends with its hint, what stands before the hint is cut. */
const cutBeforeHint = (message: string, hint: string | null, cut: Cut): string => {
  if (hint === null || message.length <= MAX_MESSAGE_LENGTH || !message.endsWith(hint))
    return cut(message, MAX_MESSAGE_LENGTH);
  const shownHint = cut(hint, MAX_HINT_LENGTH);
  return `${cut(message.slice(0, -hint.length).trimEnd(), MAX_MESSAGE_LENGTH - shownHint.length - 1)} ${shownHint}`;
};

/** A message echoes a long name cut, and so perhaps half a secret: here the name is whole. */
const withShownName = (message: string, name: string | null, cut: Cut): string =>
  name === null || name.length <= MAX_NAME_ECHO
    ? message
    : message.replace(echoName(name), () => onOneLine(cut(name, MAX_NAME_ECHO)));

const redactIssue = (issue: Issue, cut: Cut): Issue => {
  const received = cut(issue.received, MAX_DESCRIBED);
  const path = cut(issue.path, MAX_ISSUE_LENGTH);
  const expected = cut(issue.expected, MAX_ISSUE_LENGTH);
  const message = cutIssueMessage(issue, received, cut);
  const isClean =
    received === issue.received && path === issue.path && expected === issue.expected && message === issue.message;
  return isClean ? issue : { path, expected, received, message };
};

/** `expected a number, got the string "…"`: what was received is as long as where it stands alone. */
const cutIssueMessage = ({ message, received }: Issue, shown: string, cut: Cut): string =>
  received === shown || !message.endsWith(received)
    ? cut(message, MAX_ISSUE_LENGTH)
    : `${cut(message.slice(0, -received.length), MAX_ISSUE_LENGTH - MAX_DESCRIBED)}${shown}`;
