import type { Issue } from '../../contract/tool-result.ts';
import { cutText } from '../../tools/describe-value.ts';
import type { CallEnd } from '../call-end.ts';
import type { Failure } from '../failure.ts';
import { MAX_MESSAGE_LENGTH } from '../failure-text.ts';
import { parseJson } from '../parse-json.ts';
import type { Redactor } from './redactor.ts';

/**
 * The end of a call as others may hear of it: no secret in the text of a failure, none that is registered in what a tool
 * says beside its value. The value is looked through where the result is written; only one that was cut is done here.
 */
export const redactEnd = (end: CallEnd, redactor: Redactor): CallEnd => {
  if (end.kind === 'failure') return { ...end, failure: redactFailure(end.failure, redactor) };
  const { message, warnings, marks } = end;
  if (message === '' && warnings.length === 0) return end;
  return {
    ...end,
    // What stands in a secret's place may be longer than it was.
    message: cutText(redactor.said(message, 'result'), MAX_MESSAGE_LENGTH),
    warnings: warnings.map((warning) => ({ ...warning, message: redactor.text(warning.message, 'result') })),
    valueJson: marks.includes('truncated') ? redactBeginning(end.valueJson, redactor) : end.valueJson,
  };
};

const redactFailure = (failure: Failure, redactor: Redactor): Failure => {
  const redact = (text: string): string => redactor.text(text, 'result');
  const { message, type, hint, issues } = failure;
  return {
    ...failure,
    message: redact(message),
    type: redact(type),
    hint: hint === null ? null : cutText(redact(hint), MAX_MESSAGE_LENGTH),
    issues: issues.length === 0 ? issues : issues.map((issue) => redactIssue(issue, redact)),
  };
};

const redactIssue = ({ path, expected, received, message }: Issue, redact: (text: string) => string): Issue => ({
  path: redact(path),
  expected: redact(expected),
  received: redact(received),
  message: redact(message),
});

// Cut through it may be anywhere, and then shows half of a registered value.
const redactBeginning = (json: string, redactor: Redactor): string => {
  const parsed = parseJson(json);
  return parsed.ok && typeof parsed.value === 'string' ? JSON.stringify(redactor.said(parsed.value, 'result')) : json;
};
