import { types } from 'node:util';
import type { Executed } from '../contract/failure.ts';
import type { Issue, Warning } from '../contract/tool-result.ts';
import { endSentence, withLookahead } from '../tools/describe-value.ts';
import { isSafe, type Tool } from '../tools/tool.ts';
import { TOOL_ERROR } from '../tools/tool-errors.ts';
import { isToldValue, toldKind } from '../tools/tool-values.ts';
import { type CallOutcome, type Failure, failed, toFailure } from './call-outcome.ts';
import type { RunOutcome } from './deadline.ts';
import {
  cutOffText,
  invalidArgumentsText,
  invalidOutputText,
  MAX_HINT_LENGTH,
  MAX_MESSAGE_LENGTH,
  noMessageText,
  timeoutText,
  toFramelessText,
  tooLargeText,
} from './failure-text.ts';
import { attempt, type JsonProof, readMember, toJsonValue, toPreviewLength, type WriteJson } from './json-proof.ts';
import { writeAsJson } from './lost-values.ts';

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
  const told = readTold(returned);
  if (told === 'unreadable') return toUnusable(tool, 'it cannot be read');
  const proof = toJsonValue(told === null ? returned : told.value, terms.maxResultBytes);
  if (proof.kind === 'invalid') return toUnusable(tool, proof.problem);
  if (proof.kind === 'too_large') return toTooLarge(tool, proof, terms.maxResultBytes);
  return told === null
    ? toSuccess(proof.json, '', NO_MARKS, NO_MARKS)
    : toSuccess(proof.json, told.message, told.marks, NO_MARKS);
};

const NO_MARKS: readonly never[] = [];
const EMPTY = ['empty'] as const;

/** What `ok` and `empty` made of a value; null where neither did. */
const readTold = (returned: unknown) => {
  if (typeof returned !== 'object' || returned === null) return null;
  try {
    if (!isToldValue(returned)) return null;
    // A copy of this module in another version may have let anything through.
    const message = typeof returned.message === 'string' ? withLookahead(returned.message, MAX_MESSAGE_LENGTH) : '';
    return { value: returned.value, message, marks: toldKind(returned) === 'empty' ? EMPTY : NO_MARKS };
  } catch (_hostile) {
    // A revoked proxy: not even `in` works on it.
    return 'unreadable';
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
  const warning = {
    code: 'output_too_large',
    message: `The result was larger than ${limitBytes} bytes and is truncated.`,
  };
  return toSuccess(JSON.stringify(preview), '', ['truncated'], [warning]);
};

type Thrower = Pick<Tool, 'name' | 'effects'>;

/**
 * Any thrown thing as a failure value. Total: it answers for strings, null, frozen objects, revoked proxies and
 * getters that throw. `graceful: 'off'` makes an unclassified exception fatal (seed 000); the classified ones pass
 * through as they are, whatever the setting.
 */
export const classifyThrown = (thrown: unknown, tool: Thrower, graceful: 'on' | 'off'): Failure => {
  const kind = readMember(thrown, TOOL_ERROR);
  const details = detailsOf(thrown);
  const text = textOf(thrown, kind === undefined ? MAX_REASON_LEVELS : 0);
  const message = endWithHint(text === '' ? noMessageText(tool.name) : text, details.hint);
  const declared = executedOf(thrown);
  switch (kind) {
    case 'retryable':
      return toFailure('retry_requested', message, tool, { ...details, executed: toRetryExecuted(declared, tool) });
    case 'terminal':
      return toFailure('tool_failed', message, tool, { ...details, executed: declared ?? 'yes' });
    case 'upstream_rate_limited':
    case 'upstream_unavailable': {
      const executed = declared ?? 'maybe';
      const outcome = executed !== 'no' && tool.effects === 'write' ? 'unknown' : 'retry';
      return toFailure(kind, message, tool, { ...details, executed, outcome });
    }
    default:
      return toException(
        details,
        text === '' ? message : endWithHint(`${details.type}: ${text}`, details.hint),
        tool,
        graceful,
      );
  }
};

const toException = (
  { type, hint, thrown }: ReturnType<typeof detailsOf>,
  message: string,
  tool: Thrower,
  graceful: 'on' | 'off',
): Failure =>
  graceful === 'off'
    ? toFailure('tool_exception', message, tool, { type, hint, thrown, fatal: true, outcome: 'failed' })
    : toFailure('tool_exception', message, tool, { type, hint, thrown });

// A write that says nothing was not begun; of a repeat that can do no harm only `no` is worth saying.
const toRetryExecuted = (declared: Executed | undefined, { effects }: Thrower): Executed => {
  if (effects === 'write') return declared ?? 'no';
  return declared === 'no' ? 'no' : 'yes';
};

const detailsOf = (thrown: unknown) => {
  const retryAfterMs = readMember(thrown, 'retryAfterMs');
  return {
    type: typeNameOf(thrown),
    hint: toHint(readMember(thrown, 'hint')),
    retryAfterMs: typeof retryAfterMs === 'number' && retryAfterMs >= 0 ? retryAfterMs : null,
    payload: readMember(thrown, 'value') ?? null,
    thrown,
  };
};

/** What an exception says of being executed. */
export const executedOf = (thrown: unknown): Executed | undefined => {
  const executed = readMember(thrown, 'executed');
  return executed === 'yes' || executed === 'no' || executed === 'maybe' ? executed : undefined;
};

// Blank says nothing.
const toHint = (hint: unknown): string | null =>
  typeof hint === 'string' && hint.trim() !== ''
    ? withLookahead(toFramelessText(hint, MAX_READ), MAX_HINT_LENGTH)
    : null;

// A tool may have put its hint into its text.
const endWithHint = (said: string, hint: string | null): string =>
  hint === null || said.includes(hint) ? said : `${endSentence(said)} ${hint}`;

const textOf = (thrown: unknown, levels: number): string =>
  withLookahead(toFramelessText(toReason(thrown, levels), MAX_READ), MAX_MESSAGE_LENGTH);

/** What it says; of an object without a message, its JSON. */
const toReason = (thrown: unknown, levels: number): string => {
  if (thrown === null || thrown === undefined) return '';
  if (typeof thrown !== 'object' && typeof thrown !== 'function') return String(thrown);
  const hasMessage = types.isNativeError(thrown) || typeof readMember(thrown, 'message') === 'string';
  return hasMessage ? textOfObject(thrown, levels) : toMembersText(thrown, writeAsJson);
};

// Frames are many characters and are not shown: more is read than may stay.
const MAX_READ = 4 * MAX_MESSAGE_LENGTH;

// What hangs on an exception says why: `fetch failed` has its reason there, and Node's error for two addresses has no text.
const MAX_REASON_LEVELS = 3;
const MAX_REASONS = 3;
const BUILT_IN: ReadonlySet<string> = new Set(['Error', 'TypeError', 'AggregateError', 'SuppressedError']);

/** Its message, or its code, and in brackets the reasons that hang on it: as many levels of them as `levels`. */
const textOfObject = (thrown: object, levels: number): string => {
  const message = readMember(thrown, 'message');
  const own = typeof message === 'string' && message.trim() !== '' ? message : toCode(readMember(thrown, 'code'));
  // A class of its own says in its message what is to be read: what caused it, such as a path of the host, is for the log.
  const isWhole = levels === 0 || (own !== '' && !BUILT_IN.has(typeNameOf(thrown)));
  const shown = isWhole ? '' : toReasons(thrown, levels - 1, own);
  if (own !== '') return shown === '' ? own : `${own} (${shown})`;
  return shown === '' ? toMembersText(thrown, JSON.stringify) : shown;
};

const toMembersText = (thrown: object, write: WriteJson): string => {
  const json = attempt(() => write(thrown));
  return typeof json === 'string' && json !== '{}' ? json : '';
};

const toCode = (code: unknown): string => (isTypeName(code) ? code : '');

/** What it does not say itself, separated by semicolons. */
const toReasons = (thrown: object, levels: number, own: string): string => {
  // Of AggregateError, of SuppressedError, and of all others.
  const errors = readMember(thrown, 'errors');
  const listed = attempt(() => (Array.isArray(errors) ? errors.slice(0, MAX_REASONS) : [])) ?? [];
  const found = [...listed, ...['error', 'suppressed', 'cause'].map((key) => readMember(thrown, key))].filter(
    isException,
  );
  // Cut out of sight: no secret shows in half.
  const reasons = new Set(found.map((reason) => toReason(reason, levels).trim().slice(0, MAX_READ)));
  return [...reasons]
    .filter((reason) => reason !== '' && !own.includes(reason))
    .slice(0, MAX_REASONS)
    .join('; ');
};

// Members of these names may be anything else.
const isException = (value: unknown): boolean =>
  typeof value === 'string' || typeof readMember(value, 'message') === 'string';

const typeNameOf = (thrown: unknown): string => {
  const named = readMember(thrown, 'name');
  if (isTypeName(named) && named !== 'Error') return named;
  const constructed = readMember(readMember(thrown, 'constructor'), 'name');
  const isError = typeof readMember(thrown, 'message') === 'string';
  return isError && isTypeName(constructed) && constructed !== 'Object' ? constructed : 'Error';
};

const isTypeName = (name: unknown): name is string => typeof name === 'string' && /^[\w$.]{1,80}$/.test(name);

/** The same list where `change` gives back each of its items: it is copied from the first one that differs on. */
export const mapChanged = <Item>(items: readonly Item[], change: (item: Item) => Item): readonly Item[] => {
  let changed: Item[] | null = null;
  let place = 0;
  for (const item of items) {
    const instead = change(item);
    if (changed === null && instead !== item) changed = items.slice(0, place);
    changed?.push(instead);
    place += 1;
  }
  return changed ?? items;
};
