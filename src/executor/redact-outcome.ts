import type { Issue } from '../contract/tool-result.ts';
import { parseJson } from '../json/parse-json.ts';
import { MAX_DESCRIBED, onOneLine } from '../tools/describe-value.ts';
import { type Call, isReady } from './call.ts';
import { toArgumentsJson } from './call-arguments.ts';
import type { CallOutcome } from './call-outcome.ts';
import type { Failure } from './failure.ts';
import { MAX_HINT_LENGTH } from './failure-message.ts';
import { echoName, invalidArgumentsText, MAX_MESSAGE_LENGTH, MAX_NAME_ECHO } from './failure-text.ts';
import { mapChanged } from './map-changed.ts';
import { MAX_ISSUE_LENGTH, toPreviewLength } from './outcome.ts';
import type { Redactor, SentText } from './redactor.ts';

/**
 * The end of a call as the log, the journal and subscribers get it: without secrets, and no text longer than the model reads.
 * With `sent` as the caller gets it: what it sent itself stays, for from its absence it could learn that it is a secret.
 */
export const redactOutcome = (end: CallOutcome, call: Call, sent?: SentText): CallOutcome => {
  if (end === call.batch.cleanOutcome) return end;
  const { redactor, maxResultBytes } = call.batch.services;
  const valueJson =
    end.valueJson === 'null'
      ? end.valueJson
      : redactValue(end, { redactor, sent, limit: toPreviewLength(maxResultBytes) });
  if (end.kind === 'failure') {
    const failure = redactFailure(end.failure, call, redactor, sent);
    if (failure !== end.failure || valueJson !== end.valueJson) return { ...end, valueJson, failure };
    call.batch.cleanOutcome = end;
    return end;
  }
  const { message, warnings } = end;
  if (message === '' && warnings.length === 0) return valueJson === end.valueJson ? end : { ...end, valueJson };
  return {
    ...end,
    valueJson,
    message: redactor.said(message, MAX_MESSAGE_LENGTH, 'result', sent),
    warnings: warnings.map((warning) => ({
      ...warning,
      message: redactor.cut(warning.message, MAX_MESSAGE_LENGTH, 'result', sent),
    })),
  };
};

/** What a caller sent of a call, as text. */
export const toSentText = (call: Call): string =>
  `${call.id ?? ''}\n${call.name ?? ''}\n${isReady(call) ? toArgumentsJson(call) : ''}`;

type ValueTerms = { readonly redactor: Redactor; readonly sent: SentText | undefined; readonly limit: number };

const redactValue = (end: CallOutcome, { redactor, sent, limit }: ValueTerms): string => {
  const isBeginning = end.kind === 'success' && end.marks.includes('truncated');
  const preview = isBeginning ? parseJson(end.valueJson) : null;
  return preview?.ok && typeof preview.value === 'string'
    ? JSON.stringify(redactor.said(preview.value, limit, 'result', sent))
    : redactor.value(end.valueJson, 'result', sent);
};

const redactFailure = (failure: Failure, call: Call, redactor: Redactor, sent?: SentText): Failure => {
  const cut = (text: string, limit: number): string => redactor.cut(text, limit, 'result', sent);
  const issues = mapChanged(failure.issues, (issue) => redactIssue(issue, cut));
  const message =
    failure.code === 'invalid_arguments' && isReady(call) && issues.length > 0
      ? invalidArgumentsText(call.tool, issues, failure.issueCount)
      : cutBeforeHint(withShownName(failure.message, call.name, cut), failure.hint, cut);
  const type = failure.type === failure.code ? failure.type : redactor.text(failure.type, 'result', sent);
  const hint = failure.hint === null ? null : cut(failure.hint, MAX_HINT_LENGTH);
  const isClean =
    issues === failure.issues && message === failure.message && type === failure.type && hint === failure.hint;
  return isClean ? failure : { ...failure, message, type, hint, issues };
};

type Cut = (text: string, limit: number) => string;

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
  const message = cutMessage(issue, received, cut);
  const isClean =
    received === issue.received && path === issue.path && expected === issue.expected && message === issue.message;
  return isClean ? issue : { path, expected, received, message };
};

/** `expected a number, got the string "…"`: what was received is as long as where it stands alone. */
const cutMessage = ({ message, received }: Issue, shown: string, cut: Cut): string => {
  if (received === shown || !message.endsWith(received)) return cut(message, MAX_ISSUE_LENGTH);
  return `${cut(message.slice(0, -received.length), MAX_ISSUE_LENGTH - MAX_DESCRIBED)}${shown}`;
};
