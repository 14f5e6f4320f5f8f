import { FAILURE_POLICY } from '../contract/failure.ts';
import type { Issue } from '../contract/tool-result.ts';
import { isMissing } from '../tools/argument-issues.ts';
import { cutText, endSentence, LOOKAHEAD, onOneLine, withLookahead } from '../tools/describe-value.ts';
import { isSafe, type Tool } from '../tools/tool.ts';
import { type Failure, toFailure } from './call-outcome.ts';
import type { DropReason } from './call-slots.ts';
import type { CancelCause } from './deadline.ts';
import type { PendingLimit } from './pending-calls.ts';
import type { Budget, CallLimit, Denial } from './session-store.ts';

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

/** Of a tool that is known and cannot be called: nothing that the model sends differently helps. */
export const toolUnavailableText = (name: string): string =>
  `Not executed: tool '${echoName(name)}' is not available now, and other arguments do not help. Use another tool, or say what could not be done.`;

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
    : ` No retries are left for '${name}'. Check in another way whether it took effect, or say that its outcome is unknown.`;

export const NO_RETRIES_FOR_UNKNOWN_NAMES = ' No retries are left for unknown names.';

export const notExecutedText = (name: string): string => `Not executed: the preceding call to '${name}' failed.`;

export const asyncRequiredText = (name: string): string =>
  `Tool '${name}' only runs in the background, and this request waits for its results. The agent's runtime must send the call with 'Prefer: respond-async'.`;

export const notExecutedPendingText = (name: string): string =>
  `Not executed: the preceding call to '${name}' has not ended. Send this call again when it has.`;

export const NO_ROOM_FOR_ARGUMENTS_TEXT =
  'Not executed: the service has no memory left for these arguments. Send them again in a few seconds.';

/** Why no further call is pending; `limit`: in per cent where it is the store's, in bytes where it is of a part or of memory. */
export const pendingLimitText = (name: string, of: PendingLimit, limit: number): string => {
  const why = `Tool '${name}' was not called:`;
  switch (of) {
    case 'caller':
      return `${why} this caller's calls fill its part of the memory for requests, ${toMebibytes(limit)} MiB. ${FEWER}`;
    case 'tenant':
      return `${why} the pending calls, results and messages of this caller's tenant fill its part of the store, ${toMebibytes(limit)} MiB. ${FEWER}`;
    case 'memory':
      return `${why} the calls of this caller and of others fill the memory for requests, ${toMebibytes(limit)} MiB. ${FEWER}`;
    case 'store':
      return `${why} the store of pending calls is more than ${limit} % full and accepts no others now. Try again later, or say what could not be done.`;
    default:
      return `${why} ${PENDING_HOLDERS[of]} has ${limit} pending calls, the most it may have. Wait until one ends.`;
  }
};

const FEWER = 'Wait until one ends, or send smaller arguments.';

const toMebibytes = (bytes: number): string => (bytes / 1_048_576).toFixed(1);

const PENDING_HOLDERS = { session: 'this session', key: 'this caller', service: 'the service' } as const;

export const PENDING_STORE_UNAVAILABLE_TEXT =
  'Not executed: this call runs in the background, and the store that would keep it is unavailable. Try again in a few seconds.';

export const batchLimitText = (limit: number): string =>
  `Not executed: a batch runs at most ${limit} calls. Send this call again in another batch.`;

/** Why the loop guard did not run a call that would have been the `times`-th in a row. */
export const loopText = (name: string, cause: 'failed' | 'same_answer', times: number): string =>
  cause === 'failed'
    ? `Not executed: '${name}' was called ${times} times in a row with the same arguments and failed. Change the arguments or the approach.`
    : `Not executed: '${name}' was called ${times} times in a row with the same arguments and returned the same answer. Use that answer, or change the arguments.`;

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
  `Not executed: '${name}' is temporarily disabled after repeated failures; available again in ${countOf(Math.max(1, Math.ceil(retryAfterMs / 1000)), 'second')}. Use another tool, or say what could not be done.`;

export const identicalCallText = (name: string, times: number): string =>
  `'${name}' has returned the same answer ${times} times in a row for the same arguments.`;

export const outcomeUnknownText = (name: string): string =>
  `An earlier attempt of this call to '${name}' started, and its outcome is unknown. It may or may not have taken effect. Check before calling it again.`;

export const noCallKeyText = (name: string): string =>
  `Not executed: with idempotency "call_id" a call to '${name}' needs an id that is a text, and its batch a session_id.`;

export const reusedIdText = (name: string): string =>
  `Not executed: the id of this call to '${name}' is that of another call of the session, with another name or other arguments. Send it with an id of its own.`;

export const stillInFlightText = (name: string): string =>
  `Another request with the id of this call to '${name}' has not ended. It may or may not have taken effect. Send the call again with the same id to learn its result.`;

export const takenOverText = (name: string): string =>
  `Another attempt of this batch took over; this attempt did not run '${name}', the other may have. Check before calling it again.`;

export const IDEMPOTENCY_STORE_UNAVAILABLE_TEXT =
  'Not executed: the store of Idempotency-Keys is unavailable, so a repeat would not be detected. Send the batch again later.';

export const notAuthorizedText = (name: string): string =>
  `The API key may not use '${name}'. Use another tool, or say what could not be done.`;

export const CANCELLED_BY_CLIENT_TEXT = 'Not executed: the caller disconnected before this call started.';
export const CANCELLED_BY_DEADLINE_TEXT = "Not executed: the batch's deadline passed before this call started.";
export const OVERLOADED_TEXT =
  "Not executed: no slot became free before the batch's deadline. Send fewer calls at once, or try later.";

/** The process or the machine has run out of `what`; `executed`: what that says of the call. */
export const shortageText = ({ name }: Pick<Tool, 'name'>, what: string, executed: 'no' | 'maybe'): string =>
  executed === 'no'
    ? `Not executed: the service has run out of ${what}. Try again in a few seconds.`
    : `The service ran out of ${what} while '${name}' was running. It may or may not have taken effect. Check before calling it again.`;

const DROP_TEXTS = {
  queue_full: 'Not executed: too many calls are waiting already. Send fewer calls at once, or send this one later.',
  deadline:
    "Not executed: too little time was left before the batch's deadline. Send fewer calls at once, or allow more time.",
} as const satisfies Record<DropReason, string>;

export const dropText = (reason: DropReason): string => DROP_TEXTS[reason];

export const SHUTTING_DOWN_TEXT = 'Not executed: the service is shutting down. Send this call again in a few seconds.';
export const STORE_UNAVAILABLE_TEXT =
  'Not executed: the session store is unavailable, and calls are refused without it. Try later, or say what could not be done.';
export const AUDIT_UNAVAILABLE_TEXT =
  'Not executed: the audit log cannot be written now, and no write runs without it. Try later, or say what could not be done.';
export const INTERNAL_ERROR_TEXT =
  'The service failed while handling this call, which is not your fault. It may or may not have run. Check before calling it again.';

/** A call the batch ended before: the service's fault only where it is stopping. */
export const explainNotStarted = (cause: CancelCause): Failure => {
  if (cause === 'shutdown') return toFailure('shutting_down', SHUTTING_DOWN_TEXT, null);
  const message = cause === 'deadline' ? CANCELLED_BY_DEADLINE_TEXT : CANCELLED_BY_CLIENT_TEXT;
  return toFailure('cancelled', message, null, { outcome: 'refused', executed: 'no' });
};

export const cutOffText = (tool: Tool): string =>
  isSafe(tool)
    ? `Tool '${tool.name}' was cancelled while running. It is safe to call it again.`
    : `Tool '${tool.name}' was cancelled while running. It may or may not have taken effect. Check before calling it again.`;

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

// Sentences that tell a model to make the call once more: of this service, of its tools, and as most people write them.
const ADVICE =
  /(^|[.!?…]["'”’)\]]{0,3} )(?:(?:please )?(?:try|call|retry)(?: it| this)? again\b|(?:please )?try (?:later|different|other)\b|please retry\b|retry (?:later\b|in (?=\d|an? |some ))|ask for less\b|fix th(?:is|ese) and call\b|it is safe to call it again\b|check before (?:calling|posting)(?: it)? again\b|send one JSON object, for example\b.*$)(?:\b(?:e\.g|i\.e|etc|vs)\.|[^.!?\n]|[.!?](?=\S))*[.!?]? ?/gim;

/** A message without the sentences that advise another try, and without the hint; "" where it says nothing else. */
export const withoutAdvice = (message: string, hint: string | null): string =>
  dropHint(message, hint).replace(ADVICE, '$1').trim();

// A hint that is a part of a sentence stays: without it "The nearest is notes.md." would say nothing.
const dropHint = (message: string, hint: string | null): string => {
  const at = hint === null ? -1 : message.lastIndexOf(hint);
  if (hint === null || at === -1) return message;
  const before = message.slice(0, at);
  const after = message.slice(at + hint.length);
  const isWhole = isAtStart(before) && (ENDED.test(hint.slice(-4)) || /^(?:[.!?…]|\s*$|\s*\n)/.test(after));
  return isWhole ? before + after.replace(/^[.!?…]+/, '') : message;
};

const ENDED = /[.!?…。！？]["'”’)\]]{0,3}$/;

/** Whether a sentence may begin behind this text. */
const isAtStart = (before: string): boolean => {
  const text = before.trimEnd();
  return text === '' || ENDED.test(text.slice(-4)) || before.slice(text.length).includes('\n');
};
