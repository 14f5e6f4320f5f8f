import type { Issue, Warning } from '../contract/tool-result.ts';
import { isDeeperThan } from '../json/json-text.ts';
import { withArticle, withLookahead } from '../tools/describe-value.ts';
import { isSafe, type Tool } from '../tools/tool.ts';
import { isToldValue, toldKind } from '../tools/tool-values.ts';
import { type CallOutcome, failed } from './call-outcome.ts';
import { classifyThrown } from './classify-thrown.ts';
import type { RunOutcome } from './deadline.ts';
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
import { mapChanged } from './map-changed.ts';

export type OutcomeTerms = { readonly graceful: 'on' | 'off'; readonly maxResultBytes: number };

// As many as a model may mend at once; 80 000 invented keys would be ten times the request.
const MAX_ISSUES = 100;
export const MAX_ISSUE_LENGTH = 500;

/** What a run means for its call: classification of whatever was thrown, and proof that the value is JSON. Total. */
export const toCallOutcome = (run: RunOutcome, tool: Tool, terms: OutcomeTerms): CallOutcome => {
  switch (run.kind) {
    case 'returned':
      return toReturned(run.value, tool, terms);
    case 'threw':
      return toThrown(run.thrown, tool, terms);
    case 'invalid_arguments':
      return toInvalidArguments(run.issues, tool);
    case 'invalid_output': {
      const [first] = run.issues;
      const where = first === undefined || first.path === '' ? '' : `${first.path}: `;
      return toUnusable(tool, `${where}${first?.message ?? 'it breaks the output schema'}`);
    }
    case 'ended':
      return run.outcome;
    case 'timed_out':
      return failed(toFailure('timeout', timeoutText(tool, run.limitMs), tool));
    case 'cut_off':
      return failed(toFailure('cancelled', cutOffText(tool), tool));
  }
};

// Calls of a batch are often wrong in the same way, and share their outcome then: so it is redacted and written once.
let lastRefusal: { readonly found: readonly Issue[]; readonly tool: Tool; readonly outcome: CallOutcome } | null = null;
// What the slot above keeps of the memory.
const MAX_SHARED = 4;

const toInvalidArguments = (found: readonly Issue[], tool: Tool): CallOutcome => {
  if (lastRefusal?.found === found && lastRefusal.tool === tool) return lastRefusal.outcome;
  const issues = mapChanged(found.length > MAX_ISSUES ? found.slice(0, MAX_ISSUES) : found, toPlainIssue);
  const message = invalidArgumentsText(tool, issues, found.length);
  const outcome = failed(toFailure('invalid_arguments', message, tool, { issues, issueCount: found.length }));
  lastRefusal = found.length > MAX_SHARED ? null : { found, tool, outcome };
  return outcome;
};

// A refinement that throws puts its own words into the message.
const toPlainIssue = (issue: Issue): Issue => {
  const path = withLookahead(issue.path, MAX_ISSUE_LENGTH);
  const expected = withLookahead(issue.expected, MAX_ISSUE_LENGTH);
  const message = toFramelessText(issue.message, MAX_ISSUE_LENGTH);
  const isPlain = path === issue.path && expected === issue.expected && message === issue.message;
  return isPlain ? issue : { ...issue, path, expected, message };
};

const toThrown = (thrown: unknown, tool: Tool, terms: OutcomeTerms): CallOutcome => {
  const failure = classifyThrown(thrown, tool, terms.graceful);
  if (failure.payload === null) return failed(failure);
  const proof = toJsonValue(failure.payload, terms.maxResultBytes);
  return failed(failure, proof.kind === 'json' ? proof.json : 'null');
};

const toReturned = (returned: unknown, tool: Tool, terms: OutcomeTerms): CallOutcome => {
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
    // A copy of this module in another version may have let anything through.
    const message = typeof returned.message === 'string' ? withLookahead(returned.message, MAX_MESSAGE_LENGTH) : '';
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
): CallOutcome => ({ kind: 'success', executed: 'yes', valueJson, message, marks, warnings });

// What a write tool did cannot be undone by refusing its answer: it stays a success, with a warning.
const toUnusable = (tool: Tool, problem: string): CallOutcome => {
  const message = invalidOutputText(tool, problem);
  return isSafe(tool)
    ? failed(toFailure('invalid_output', message, tool))
    : toSuccess('null', '', NO_MARKS, [{ code: 'invalid_output', message }]);
};

const toTooLarge = (tool: Tool, proof: Extract<JsonProof, { kind: 'too_large' }>, limitBytes: number): CallOutcome => {
  const message = tooLargeText(tool, limitBytes);
  if (isSafe(tool)) return failed(toFailure('output_too_large', message, tool));
  const preview = proof.json === null ? null : withLookahead(proof.json, toPreviewLength(limitBytes));
  const warning = { code: 'output_too_large', message: `The result was larger than ${limitBytes} bytes and is cut.` };
  return toSuccess(JSON.stringify(preview), '', ['truncated'], [warning]);
};

/** A value proved to be JSON, as text; or why it is none, or that it is over the cap (`json`: its text, or the beginning). */
export type JsonProof =
  | { readonly kind: 'json'; readonly json: string }
  | { readonly kind: 'invalid'; readonly problem: string }
  | { readonly kind: 'too_large'; readonly json: string | null };

const MAX_PREVIEW_LENGTH = 8192;

/** How many characters are shown of a value that is larger than `maxBytes`. */
export const toPreviewLength = (maxBytes: number): number => Math.min(MAX_PREVIEW_LENGTH, maxBytes >> 2);
// Cutting a text that was put together from pieces makes all of it first.
const MAX_FLATTENED_LENGTH = 16_777_216;

const toPreview = (text: string): string | null =>
  text.length > MAX_FLATTENED_LENGTH ? null : JSON.stringify(withLookahead(text, MAX_PREVIEW_LENGTH));

/** Turns a tool's value into JSON text of at most `maxBytes` UTF-8 bytes. Total; undefined becomes null. */
export const toJsonValue = (value: unknown, maxBytes: number): JsonProof => {
  if (value === undefined || value === null) return { kind: 'json', json: 'null' };
  // Measured first: turning half a gigabyte into JSON only to refuse it would stop the whole service meanwhile.
  if (typeof value === 'string' && value.length > maxBytes) return { kind: 'too_large', json: toPreview(value) };
  const text = stringify(value);
  if (typeof text !== 'string') return text;
  const over = text.length > maxBytes || (text.length * 3 > maxBytes && Buffer.byteLength(text) > maxBytes);
  if (over) return { kind: 'too_large', json: text };
  const problem = findShapeProblem(value, text);
  return problem === null ? { kind: 'json', json: text } : { kind: 'invalid', problem };
};

const findShapeProblem = (value: unknown, text: string): string | null => {
  if (text.includes('{}') && holdsPromise(value)) return 'a Promise in it is written as {}; await it';
  return isDeeperThan(text, MAX_DEPTH) ? `it is nested deeper than ${MAX_DEPTH} levels` : null;
};

// Common JSON parsers give up at about a thousand levels, and would refuse the whole batch for one such value.
const MAX_DEPTH = 500;

const stringify = (value: unknown): string | JsonProof => {
  try {
    return JSON.stringify(value) ?? { kind: 'invalid', problem: `${withArticle(typeof value)} is not JSON` };
  } catch (thrown) {
    return toProblem(thrown);
  }
};

const toProblem = (thrown: unknown): JsonProof => {
  const message = messageOf(thrown);
  if (message.startsWith('Invalid string length')) return { kind: 'too_large', json: null };
  if (message.includes('BigInt')) return { kind: 'invalid', problem: 'a BigInt is not JSON; return it as a string' };
  if (message.includes('circular')) return { kind: 'invalid', problem: 'it refers to itself' };
  return { kind: 'invalid', problem: 'it cannot be written as JSON' };
};

// A tool's own toJSON may throw anything: a revoked proxy, on which even `instanceof` throws, or a message that is none.
const messageOf = (thrown: unknown): string => {
  try {
    return thrown instanceof Error && typeof thrown.message === 'string' ? thrown.message : '';
  } catch (_hostile) {
    return '';
  }
};

const MOST_LOOKED_AT = 10_000;

/**
 * Whether a promise is among the members of a value: JSON writes it as an empty object, and a forgotten await would be a
 * success that says nothing. Looks at the first 10,000 values; what throws when it is looked at again holds none.
 */
const holdsPromise = (value: unknown): boolean => {
  const waiting: unknown[] = [value];
  try {
    for (const each of waiting) {
      if (each instanceof Promise) return true;
      if (waiting.length < MOST_LOOKED_AT) waiting.push(...membersOf(each));
    }
  } catch (_hostile) {
    return false;
  }
  return false;
};

const membersOf = (value: unknown): readonly unknown[] =>
  typeof value === 'object' && value !== null && !('toJSON' in value)
    ? Object.values(value).slice(0, MOST_LOOKED_AT)
    : [];
