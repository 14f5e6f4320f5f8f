import type { Issue } from '../contract/tool-result.ts';
import { isMissing } from '../tools/argument-issues.ts';
import { cutText, LOOKAHEAD, onOneLine, withLookahead } from '../tools/describe-value.ts';
import { isSafe, type Tool } from '../tools/tool.ts';
import type { DropReason } from './call-slots.ts';
import type { Budget, CallLimit, Denial } from './session-store.ts';
import { withoutAdvice } from './without-advice.ts';

/** The model reads no more of one message. */
export const MAX_MESSAGE_LENGTH = 2000;
const MAX_ISSUE_LINES = 10;
const MAX_ISSUE_LINE = 180;
/** A message echoes no more of a name. */
export const MAX_NAME_ECHO = 80;

/** A name as a message may echo it: on one line, without control characters, at most 80 characters. */
export const echoName = (name: string): string => onOneLine(cutText(name, MAX_NAME_ECHO));

// Some libraries put a whole stack into the message, as lines or escaped. A model has no use for frames and must not
// see host paths.
const FRAME = /(?:^|\\n)[ \t]*at (?:(?!\\n).)*(?::\d+:\d+|<anonymous>|native)\)?(?=$|\\n|["'])/gm;

/** A text without the stack frames in it. */
export const withoutFrames = (text: string): string =>
  text.includes('at ') ? text.replace(FRAME, '').replace(/\n{2,}/g, '\n') : text;

/**
 * Text without stack frames, of which `limit` characters and the lookahead are read. Without its frames the end of what was read
 * may come into sight, and with it half a secret: where there is more, that many characters are left out, to the end of a word.
 */
export const toFramelessText = (text: string, limit: number): string => {
  const plain = withoutFrames(withLookahead(text, limit)).trim();
  if (text.length <= limit + LOOKAHEAD) return plain;
  const end = plain.length - LOOKAHEAD;
  const blank = Math.max(plain.lastIndexOf(' ', end), plain.lastIndexOf('\n', end));
  return `${plain.slice(0, Math.max(0, blank > end - LOOKAHEAD ? blank : end))}…`;
};

export const invalidCallText = (problem: string): string =>
  `${problem} Send each call as an object such as {"id": "call_1", "name": "echo", "arguments": {}}.`;

export const notJsonText = (tool: Tool, problem: string): string =>
  `Arguments for '${tool.name}' are not valid JSON: ${problem}. Send one JSON object, for example ${tool.exampleArguments}.`;

export const notAnObjectText = (tool: Tool, received: string): string =>
  `Arguments for '${tool.name}' must be a JSON object, got ${received}.`;

export const encodedTwiceText = (tool: Tool): string =>
  `Arguments for '${tool.name}' are encoded as JSON twice. Send one JSON object, for example ${tool.exampleArguments}.`;

export const unusableArgumentsText = (tool: Tool, problem: string): string =>
  `Arguments for '${tool.name}' ${problem} Fix this and call '${tool.name}' again.`;

/** One line an issue, at most ten, of `total`; a single missing parameter in one sentence (seed 002). */
export const invalidArgumentsText = (tool: Pick<Tool, 'name'>, issues: readonly Issue[], total: number): string => {
  const [only] = issues;
  if (total === 1 && only !== undefined && isMissing(only))
    return `Required parameter '${only.path}' missing. Fix this and call '${tool.name}' again.`;
  const listed = Math.min(issues.length, MAX_ISSUE_LINES);
  const problems = total === 1 ? '1 problem' : `${total} problems`;
  let text = `Invalid arguments for '${tool.name}' (${problems}):`;
  for (const { path, message } of listed < issues.length ? issues.slice(0, listed) : issues)
    text += `\n${cutText(path === '' ? `- ${message}` : `- ${path}: ${message}`, MAX_ISSUE_LINE)}`;
  if (total > listed) text += `\n… and ${total - listed} more`;
  return `${text}\nFix these and call '${tool.name}' again.`;
};

export const invalidOutputText = (tool: Tool, problem: string): string =>
  `Tool '${tool.name}' ran but returned a value that cannot be used: ${problem}. Use another tool, or say what could not be done.`;

export const tooLargeText = (tool: Tool, limitBytes: number): string =>
  `Tool '${tool.name}' ran but its result is larger than ${limitBytes} bytes. Ask for less.`;

export const timeoutText = (tool: Tool, limitMs: number): string =>
  isSafe(tool)
    ? `Tool '${tool.name}' timed out after ${limitMs} ms. It is safe to call it again; ask for less.`
    : `Tool '${tool.name}' did not answer within ${limitMs} ms. It may or may not have taken effect. Check before calling it again.`;

export const noMessageText = (name: string): string => `Tool '${name}' failed without a message.`;

const times = (count: number): string => (count === 1 ? 'once' : `${count} times in a row`);

/** Why a round was not let in; `tool` is null for names no tool has. */
export const denialText = (name: string, denial: Denial, budget: Budget, sessionRetries: number): string => {
  if (denial === 'running')
    return `Not executed: the last retry of '${name}' is still running in another batch of this session. Wait for its result.`;
  if (denial === 'session')
    return `This session has used its ${sessionRetries === 1 ? 'one retry' : `${sessionRetries} retries`}. '${name}' was not run; use what you have, or say what could not be done.`;
  const last = budget.lastError === '' ? '' : ` Last error: ${withoutAdvice(budget.lastError, null)}`;
  return `Tool '${name}' failed ${times(budget.failures)} and is blocked for this session. Do not call it again: use another tool, or say what could not be done.${last}`;
};

/** What is said about the budget after a charged failure; "" but where one retry is left. */
export const budgetSuffix = ({ remaining, used, limit }: Budget): string =>
  remaining === 1 ? ` This was attempt ${used + 1} of ${limit + 1}; one retry is left.` : '';

/** What takes the place of advice to try again where no retry is left. */
export const exhaustedSuffix = (name: string, outcome: 'retry' | 'unknown'): string =>
  outcome === 'retry'
    ? ` No retries are left for '${name}'. Use another tool, or say what could not be done.`
    : ` No retries are left for '${name}'. Find out in another way whether it took effect, or say that this is not known.`;

export const NO_RETRIES_FOR_UNKNOWN_NAMES = ' No retries are left for unknown names.';

export const notExecutedText = (name: string): string => `Not executed: the preceding call to '${name}' failed.`;

export const batchLimitText = (limit: number): string =>
  `Not executed: a batch runs at most ${limit} calls. Send this call again in another batch.`;

/** Why the loop guard did not run a call that would have been the `times`-th in a row. */
export const loopText = (name: string, cause: 'failed' | 'same_answer', times: number): string =>
  cause === 'failed'
    ? `Not executed: '${name}' was called ${times} times in a row with the same arguments and failed. Change the arguments or the approach.`
    : `Not executed: '${name}' was called ${times} times in a row with the same arguments and gave the same answer. Use that answer, or change the arguments.`;

const countOf = (count: number, noun: string): string => (count === 1 ? `one ${noun}` : `${count} ${noun}s`);

/** Why a limit of the session did not let a call run. */
export const callLimitText = (name: string, of: CallLimit, limit: number): string => {
  if (of === 'session_rounds')
    return `Not executed: this session has used its ${countOf(limit, 'round')}. Say what was done and what could not be done.`;
  if (of === 'session_calls')
    return `Not executed: this session has used its ${countOf(limit, 'call')}. Use what you have, or say what could not be done.`;
  return limit === 0
    ? `Not executed: '${name}' may not be called in this session. Other tools remain available.`
    : `Not executed: '${name}' has used its ${countOf(limit, 'call')} for this session. Other tools remain available.`;
};

export const circuitOpenText = (name: string, retryAfterMs: number): string =>
  `Not executed: '${name}' has been failing for everybody and rests for ${countOf(Math.max(1, Math.ceil(retryAfterMs / 1000)), 'more second')}. Use another tool, or say what could not be done.`;

export const identicalCallText = (name: string, times: number): string =>
  `'${name}' has given this very answer ${times} times in a row for the same arguments.`;

export const outcomeUnknownText = (name: string): string =>
  `An earlier try of this call to '${name}' was started, and how it ended is not known. It may or may not have taken effect. Check before calling it again.`;

export const takenOverText = (name: string): string =>
  `Another try of this batch has taken over, and this one did not run '${name}'. The other one may have. Check before calling it again.`;

export const KEYED_STORE_UNAVAILABLE_TEXT =
  'Not executed: the store that keeps Idempotency-Keys is unavailable, and without it nobody could tell a repeat. Send the batch again later.';

export const notAuthorizedText = (name: string): string =>
  `The API key may not use '${name}'. Use another tool, or say what could not be done.`;

export const CANCELLED_BY_CLIENT_TEXT = 'Not executed: the caller went away before this call started.';
export const CANCELLED_BY_DEADLINE_TEXT = "Not executed: the batch's deadline passed before this call started.";
export const OVERLOADED_TEXT =
  "Not executed: no slot became free before the batch's deadline. Send fewer calls at once, or try later.";

const DROP_TEXTS = {
  queue_full: 'Not executed: too many calls are waiting already. Send fewer calls at once, or send this one later.',
  deadline:
    "Not executed: what was left of the batch's deadline would not have been enough. Send fewer calls at once, or allow more time.",
} as const satisfies Record<DropReason, string>;

export const dropText = (reason: DropReason): string => DROP_TEXTS[reason];

export const SHUTTING_DOWN_TEXT = 'Not executed: the service is shutting down. Send this call again in a few seconds.';
export const STORE_UNAVAILABLE_TEXT =
  'Not executed: the session store is unavailable and no calls are run without it. Try later, or say what could not be done.';
export const INTERNAL_ERROR_TEXT =
  'The service failed while handling this call, which is not your fault. It may or may not have run. Check before calling it again.';

export const cutOffText = (tool: Tool): string =>
  isSafe(tool)
    ? `Tool '${tool.name}' was cancelled while running. It is safe to call it again.`
    : `Tool '${tool.name}' was cancelled while running. It may or may not have taken effect. Check before calling it again.`;
