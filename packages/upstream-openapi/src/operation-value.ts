import { parseExactJson } from '@recourse/toolkit-kit/egress/exact-json';
import type { Answer } from '@recourse/toolkit-kit/egress/exchange';
import type { Fetched } from '@recourse/toolkit-kit/egress/http-client';
import { isRedirect } from '@recourse/toolkit-kit/egress/redirects';
import { isSuccess } from '@recourse/toolkit-kit/egress/response-status';
import { showText, showUrl } from '@recourse/toolkit-kit/egress/show-url';
import { toText } from '@recourse/toolkit-kit/egress/text-content';
import { retryAfterOf } from '@recourse/toolkit-kit/egress/transport-retries';
import type { Effects } from 'recourse-server/contract/failure';
import { isRecord, recordAt, textAt } from 'recourse-server/contract/json-record';
import { endSentence } from 'recourse-server/tools/describe-value';
import { RetryableToolError, TerminalToolError, UpstreamToolError } from 'recourse-server/tools/tool-errors';
import { empty, ok } from 'recourse-server/tools/tool-values';
import type { ImportMeans } from './import-means.ts';
import type { OperationPlan } from './operation-plan.ts';
import { hasMoreParts } from './parse-document.ts';
import { createSilenceFailure } from './read-document.ts';

/** What an answer is read with. `effects`: what holds for this call, which the operator may say otherwise than the plan. */
type AnswerOptions = ImportMeans & { readonly plan: OperationPlan; readonly effects: Effects };

const MOST_PAYLOAD_CHARACTERS = 4_000;
// Values and names of members, as in an answer of an MCP server: a megabyte of empty objects has 700 000, and took 250 ms
// and 70 MB.
const MOST_PARTS = 200_000;

/**
 * What a call comes back with: the JSON of a success as it is, text as `{content_type, text}`, anything else as a
 * description. Throws what the status means. A write that the API confirmed is a success, whatever its body is like.
 */
export const readOperationValue = (
  fetched: Fetched,
  plan: OperationPlan,
  effects: Effects,
  means: ImportMeans,
): unknown => {
  const options: AnswerOptions = { ...means, plan, effects };
  const { redirects, status = 0 } = fetched;
  // The place that redirected a write may have done it, whatever the last place says.
  const isDoubtful = redirects > 0 && effects !== 'read';
  if (fetched.kind === 'no_answer') {
    if (effects !== 'read' && isSuccess(status)) return readUnusable(status, effects, 'was lost in transit', 'api');
    throw createSilenceFailure(isDoubtful ? { ...fetched, executed: 'maybe' } : fetched, means.name);
  }
  if (isSuccess(status)) return readSuccess(fetched, options);
  if (status === 304) return empty('HTTP 304: nothing has changed.');
  if (status < 400) return readRedirected(fetched, options);
  throw createStatusFailure(fetched, isDoubtful, options);
};

const contentTypeOf = ({ headers }: Answer): string => headers.get('content-type') ?? '';

const readSuccess = (answer: Answer, options: AnswerOptions): unknown => {
  const { status, body, headers } = answer;
  const { plan, effects, settings, removeSecrets } = options;
  if (plan.method === 'HEAD') return describeHead(answer);
  if (body.cut === 'size')
    return readUnusable(status, effects, `is larger than ${settings.maxResponseBytes} bytes`, 'arguments');
  if (body.cut === 'time') return readUnusable(status, effects, 'was not complete in time', 'api');
  const value = readBody(answer, options);
  if (status !== 202 || value === BLANK) return value === BLANK ? readBlank(status, effects) : value;
  const location = headers.get('location');
  const where = location === undefined ? '' : ` Its state is at '${showText(removeSecrets.fromAnswer(location))}'.`;
  return ok(value, `HTTP 202: the API accepted this and is still processing it.${where}`);
};

const readBlank = (status: number, effects: Effects): unknown =>
  effects === 'read'
    ? empty(`HTTP ${status}: the API answered without content.`)
    : ok(null, `HTTP ${status}: done; the API answered without content.`);

/** A success without its body. A write is done all the same; a read fails, by the fault of the API or of the arguments. */
const readUnusable = (status: number, effects: Effects, problem: string, fault: 'api' | 'arguments'): unknown => {
  const leftOut = fault === 'arguments' ? ' and was left out' : '';
  if (effects !== 'read')
    return ok(null, `HTTP ${status}: done, but the API's answer ${problem}${leftOut}. Do not repeat this call.`);
  const text = `HTTP ${status}: the API's answer ${problem}.`;
  if (fault === 'arguments')
    throw new RetryableToolError(text, {
      hint: 'Ask for less: a smaller page, fewer fields, a narrower filter.',
      executed: 'yes',
    });
  throw new UpstreamToolError('upstream_unavailable', text, {
    executed: 'maybe',
    hint: 'Try again, or ask for something else.',
  });
};

const describeHead = ({ status, headers }: Answer) => ({
  status,
  headers: Object.fromEntries(
    ['content-type', 'content-length', 'etag', 'last-modified', 'link'].flatMap((name) => {
      const value = headers.get(name);
      return value === undefined ? [] : [[name, value]];
    }),
  ),
});

const BLANK = Symbol('blank');

/** `BLANK` for no bytes, and for JSON of nothing but white space. */
const readBody = (answer: Answer, { effects, removeSecrets }: AnswerOptions): unknown => {
  const { status, body } = answer;
  const type = contentTypeOf(answer);
  const received = toText(body.bytes, type, 'complete');
  if (body.bytes.byteLength === 0) return BLANK;
  if (received === null) return { content_type: showText(type), bytes: body.bytes.byteLength, text: null };
  const text = removeSecrets.fromAnswer(received);
  const isJson = /^[^;]*[/+]json\b/i.test(type);
  if (isJson && text.trim() === '') return BLANK;
  if (!isJson && type !== '') return { content_type: showText(type), text };
  const isLarge = hasMoreParts(text, MOST_PARTS);
  const parsed = isLarge ? null : parseExactJson(text);
  if (parsed?.ok) return parsed.value;
  if (!isJson) return { content_type: null, text };
  return isLarge
    ? readUnusable(status, effects, `has more than ${MOST_PARTS} values and names`, 'arguments')
    : readUnusable(status, effects, 'is not valid JSON', 'api');
};

/** A redirect that was not followed. To a write 303 says that it is done (RFC 9110, section 15.4.4). */
const readRedirected = ({ status, headers }: Answer, { plan, effects, removeSecrets }: AnswerOptions): unknown => {
  const location = headers.get('location');
  const value = { status, location: removeSecrets.fromAnswer(location ?? '') };
  if (status === 303 && effects !== 'read')
    return ok(value, `HTTP 303: done; its result is at '${showText(value.location)}'. Do not repeat this call.`);
  if (isRedirect(status) && plan.answeredRedirects.has(status)) return value;
  const target = showUrl(removeSecrets.fromFailure(location ?? 'nowhere'));
  const text = `HTTP ${status}: the API redirects to '${target}', which is not followed.`;
  if (effects === 'read') throw new TerminalToolError(text, { hint: 'Do not repeat this call.' });
  throw new UpstreamToolError('upstream_unavailable', text, { executed: 'maybe' });
};

type Verdict = readonly [kind: 'retry' | 'failed' | 'human' | 'busy', says: string];

// What each status means for the caller: RFC 9110, section 15.5, and RFC 6585.
const VERDICTS: ReadonlyMap<number, Verdict> = new Map([
  [400, ['retry', 'the API does not understand the request']],
  [401, ['human', 'the API rejects the credentials of this service']],
  [402, ['failed', 'the API requires payment']],
  [403, ['human', 'the credentials of this service do not permit this']],
  [404, ['retry', 'not found']],
  [405, ['failed', 'the API does not support this operation']],
  [406, ['failed', 'the API has no response format that this service accepts']],
  [407, ['human', 'a proxy in front of the API requires credentials']],
  [408, ['busy', 'the API waited too long for the request']],
  [409, ['retry', 'this conflicts with the current state']],
  [410, ['failed', 'this no longer exists']],
  [412, ['retry', 'a condition of the request is not met']],
  [413, ['retry', 'the request is too large']],
  [414, ['retry', 'the request is too long']],
  [415, ['failed', 'the API does not accept this media type']],
  [422, ['retry', 'the API cannot process these values']],
  [423, ['retry', 'this is locked']],
  [424, ['retry', 'a request that this one depends on failed']],
  [425, ['busy', 'the API refuses the request because it could be a replay']],
  [426, ['failed', 'the API requires another protocol']],
  [428, ['retry', 'the API requires a condition in the request, such as If-Match']],
  [429, ['busy', 'rate limit exceeded']],
  [431, ['retry', 'the request headers are too large']],
  [451, ['failed', 'this is withheld for legal reasons']],
]);

const findVerdict = ({ status, headers }: Answer): Verdict => {
  if (status >= 500) return ['busy', 'the API failed'];
  const [kind, says] = VERDICTS.get(status) ?? ['retry', 'the API refused the request'];
  // 403 with a wait: how GitHub and others say 429.
  const isLimit = status === 403 && (headers.has('retry-after') || headers.get('x-ratelimit-remaining') === '0');
  return [isLimit ? 'busy' : kind, says];
};

/** The error for an answer of 400 or above. For a write, `executed` is `no` for what the API refused. */
const createStatusFailure = (answer: Answer & Fetched, isDoubtful: boolean, options: AnswerOptions): Error => {
  const { name, now, effects } = options;
  const { message, value } = readErrorBody(answer, options);
  const [kind, says] = findVerdict(answer);
  const text = `HTTP ${answer.status}: ${endSentence(message === '' ? says : message)}`;
  if (kind === 'busy') return createBusyFailure(answer, text, now(), isDoubtful);
  if (kind === 'retry' && isDoubtful && effects === 'write')
    return new UpstreamToolError('upstream_unavailable', text, { executed: 'maybe' });
  if (kind === 'retry') {
    const hint = 'Correct the arguments, or read the current state first.';
    return new RetryableToolError(text, { value, hint, ...(isDoubtful ? { executed: 'maybe' } : {}) });
  }
  const hint =
    kind === 'human'
      ? `A human must correct the setting 'auth' of the OpenAPI import '${name}'.`
      : 'Do not repeat this call.';
  return new TerminalToolError(text, { value, executed: isDoubtful ? 'maybe' : 'no', hint });
};

/** What the API says is wrong ('' for nothing), and its answer as the `value` of the failure. */
const readErrorBody = (answer: Answer, { removeSecrets }: AnswerOptions) => {
  const text = removeSecrets.fromFailure(toText(answer.body.bytes, contentTypeOf(answer), 'cut') ?? '');
  const parsed = parseExactJson(text);
  const isShort = parsed.ok && text.length <= MOST_PAYLOAD_CHARACTERS;
  const body = isShort ? parsed.value : showText(text, MOST_PAYLOAD_CHARACTERS);
  const message = findMessage(text, parsed.ok ? parsed.value : null);
  return { message, value: { status: answer.status, body: body === '' ? null : body } };
};

// 403 only comes here as a limit. Answered before anything was done; any other failure may have come half-way.
const NOT_EXECUTED: ReadonlySet<number> = new Set([403, 425, 429]);

const createBusyFailure = (answer: Answer, text: string, nowMs: number, isDoubtful: boolean): UpstreamToolError => {
  const isNotExecuted = NOT_EXECUTED.has(answer.status);
  const retryAfterMs = retryAfterOf(answer, nowMs);
  const when = retryAfterMs === undefined ? 'later' : `in ${Math.max(1, Math.ceil(retryAfterMs / 1_000))} s`;
  return new UpstreamToolError(
    isNotExecuted && answer.status !== 425 ? 'upstream_rate_limited' : 'upstream_unavailable',
    isNotExecuted ? `${text} Try again ${when}.` : text,
    {
      executed: isNotExecuted && !isDoubtful ? 'no' : 'maybe',
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    },
  );
};

const MOST_SHOWN = 600;

/**
 * What the API says is wrong, as one line: `detail` (RFC 9457), `message`, `error` or `error.message`, else the
 * beginning of its answer. '' where it says nothing, as HTML does.
 */
const findMessage = (text: string, body: unknown): string => {
  const record = isRecord(body) ? body : {};
  const own = ['detail', 'message', 'error'].map((name) => textAt(record, name)).find((one) => one !== undefined);
  const message = own ?? textAt(recordAt(record, 'error'), 'message') ?? (/^\s*</.test(text) ? '' : text);
  return showText(message.replace(/\s+/g, ' ').trim(), MOST_SHOWN);
};
