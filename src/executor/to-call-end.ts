import type { Issue, Warning } from '../contract/tool-result.ts';
import { withLookahead } from '../tools/describe-value.ts';
import { isSafe, type Tool } from '../tools/tool.ts';
import { isToldValue, toldKind } from '../tools/tool-values.ts';
import { type CallEnd, failed } from './call-end.ts';
import { classifyThrown } from './classify-thrown.ts';
import { toFailure } from './failure.ts';
import {
  cutOffText,
  invalidArgumentsText,
  invalidOutputText,
  MAX_MESSAGE_LENGTH,
  timeoutText,
  toFramelessText,
  tooLargeText,
} from './failure-text.ts';
import type { RunEnd } from './run-end.ts';
import { type JsonProof, toJsonValue, toPreviewLength } from './to-json-value.ts';

export type EndTerms = { readonly graceful: 'on' | 'off'; readonly maxResultBytes: number };

// As many as a model may mend at once; 80 000 invented keys would be ten times the request.
const MAX_ISSUES = 100;
export const MAX_ISSUE_LENGTH = 500;

/** What a run means for its call: classification of whatever was thrown, and proof that the value is JSON. Total. */
export const toCallEnd = (run: RunEnd, tool: Tool, terms: EndTerms): CallEnd => {
  switch (run.kind) {
    case 'returned':
      return toReturnedEnd(run.value, tool, terms);
    case 'threw':
      return toThrownEnd(run.thrown, tool, terms);
    case 'invalid_arguments':
      return toInvalidArguments(run.issues, tool);
    case 'invalid_output': {
      const [first] = run.issues;
      const where = first === undefined || first.path === '' ? '' : `${first.path}: `;
      return toUnusable(tool, `${where}${first?.message ?? 'it breaks the output schema'}`);
    }
    case 'ended':
      return run.end;
    case 'timed_out':
      return failed(toFailure('timeout', timeoutText(tool, run.limitMs), tool));
    case 'cut_off':
      return failed(toFailure('cancelled', cutOffText(tool), tool));
  }
};

const toInvalidArguments = (found: readonly Issue[], tool: Tool): CallEnd => {
  const issues = found.slice(0, MAX_ISSUES).map(toPlainIssue);
  return failed(
    toFailure('invalid_arguments', invalidArgumentsText(tool, issues, found.length), tool, {
      issues,
      issueCount: found.length,
    }),
  );
};

// A refinement that throws puts its own words into the message.
const toPlainIssue = (issue: Issue): Issue => ({
  ...issue,
  path: withLookahead(issue.path, MAX_ISSUE_LENGTH),
  expected: withLookahead(issue.expected, MAX_ISSUE_LENGTH),
  message: toFramelessText(issue.message, MAX_ISSUE_LENGTH),
});

const toThrownEnd = (thrown: unknown, tool: Tool, terms: EndTerms): CallEnd => {
  const failure = classifyThrown(thrown, tool, terms.graceful);
  if (failure.payload === null) return failed(failure);
  const proof = toJsonValue(failure.payload, terms.maxResultBytes);
  return failed(failure, proof.kind === 'json' ? proof.json : 'null');
};

const toReturnedEnd = (returned: unknown, tool: Tool, terms: EndTerms): CallEnd => {
  const unpacked = unpack(returned);
  if (unpacked === null) return toUnusable(tool, 'it cannot be read');
  const proof = toJsonValue(unpacked.value, terms.maxResultBytes);
  if (proof.kind === 'invalid') return toUnusable(tool, proof.problem);
  if (proof.kind === 'too_large') return toTooLarge(tool, proof, terms.maxResultBytes);
  return toSuccess(proof.json, unpacked.message, unpacked.marks, NO_MARKS);
};

type Unpacked = { readonly value: unknown; readonly message: string; readonly marks: readonly 'empty'[] };
const NO_MARKS: readonly never[] = [];

const unpack = (returned: unknown): Unpacked | null => {
  if (typeof returned !== 'object' || returned === null) return { value: returned, message: '', marks: NO_MARKS };
  try {
    if (!isToldValue(returned)) return { value: returned, message: '', marks: NO_MARKS };
    const message = withLookahead(String(returned.message), MAX_MESSAGE_LENGTH);
    return { value: returned.value, message, marks: toldKind(returned) === 'empty' ? ['empty'] : NO_MARKS };
  } catch (_hostile) {
    // A revoked proxy: not even `in` works on it.
    return null;
  }
};

const toSuccess = (
  valueJson: string,
  message: string,
  marks: readonly ('empty' | 'truncated')[],
  warnings: readonly Warning[],
): CallEnd => ({ kind: 'success', executed: 'yes', valueJson, message, marks, warnings });

// What a write tool did cannot be undone by refusing its answer: it stays a success, with a warning.
const toUnusable = (tool: Tool, problem: string): CallEnd => {
  const message = invalidOutputText(tool, problem);
  return isSafe(tool)
    ? failed(toFailure('invalid_output', message, tool))
    : toSuccess('null', '', NO_MARKS, [{ code: 'invalid_output', message }]);
};

const toTooLarge = (tool: Tool, proof: Extract<JsonProof, { kind: 'too_large' }>, limitBytes: number): CallEnd => {
  const message = tooLargeText(tool, limitBytes);
  if (isSafe(tool)) return failed(toFailure('output_too_large', message, tool));
  const preview = proof.json === null ? null : withLookahead(proof.json, toPreviewLength(limitBytes));
  const warning = { code: 'output_too_large', message: `The result was larger than ${limitBytes} bytes and is cut.` };
  return toSuccess(JSON.stringify(preview), '', ['truncated'], [warning]);
};
