import { parseExactJson } from '@recourse/toolkit-kit/egress/exact-json';
import type { Answer, NoAnswer } from '@recourse/toolkit-kit/egress/exchange';
import type { Fetched } from '@recourse/toolkit-kit/egress/http-client';
import { isRedirect } from '@recourse/toolkit-kit/egress/redirects';
import { isSuccess } from '@recourse/toolkit-kit/egress/response-status';
import { showText, showUrl } from '@recourse/toolkit-kit/egress/show-url';
import { toText } from '@recourse/toolkit-kit/egress/text-content';
import { retryAfterOf } from '@recourse/toolkit-kit/egress/transport-retries';
import type { Effects, Executed } from 'recourse-server/contract/failure';
import { isRecord, type JsonRecord, listAt, recordAt, textAt } from 'recourse-server/contract/json-record';
import { endSentence } from 'recourse-server/tools/describe-value';
import {
  RetryableToolError,
  TerminalToolError,
  TOOL_ERROR,
  UpstreamToolError,
} from 'recourse-server/tools/tool-errors';
import { empty, ok } from 'recourse-server/tools/tool-values';
import type { OperationPlan } from './operation-plan.ts';
import { hasMoreParts } from './parse-document.ts';
import { toSilenceFailure } from './read-document.ts';

type AnswerOptions = {
  readonly importName: string;
  readonly plan: Pick<OperationPlan, 'method' | 'answeredRedirects'>;
  /** What holds for this call: the operator may say otherwise than the plan. */
  readonly effects: Effects;
  readonly maxResponseBytes: number;
  readonly nowMs: number;
  /** Takes the settings' secrets out of an answer, and out of a text of a failure, where shorter ones count too. */
  readonly removeSecrets: {
    readonly fromAnswer: (text: string) => string;
    readonly fromFailure: (text: string) => string;
  };
};

const MOST_PAYLOAD_CHARACTERS = 4_000;
// Values and names of members, as in an answer of an MCP server: a megabyte of empty objects has 700 000, and took 250 ms
// and 70 MB.
const MOST_PARTS = 200_000;

/**
 * What a call comes back with: the JSON of a success as it is, text as `{content_type, text}`, anything else as a
 * description; or throws what the status means. A write that the API confirmed is a success whatever its body is like.
 */
export const toOperationValue = (fetched: Fetched, options: AnswerOptions): unknown => {
  if (fetched.kind === 'no_answer') return toUnheard(fetched, options);
  const { status } = fetched;
  if (isSuccess(status)) return toSuccess(fetched, options);
  if (status === 304) return empty('HTTP 304: nothing has changed.');
  if (status < 400) return toRedirected(fetched, options);
  throw toFailure(fetched, options);
};

/** A redirect that was not followed. 303 says of what is no read that it is done (RFC 9110, section 15.4.4). */
const toRedirected = (answer: Answer, { plan, effects, removeSecrets }: AnswerOptions): unknown => {
  const { status, headers } = answer;
  const value = { status, location: removeSecrets.fromAnswer(headers.get('location') ?? '') };
  if (status === 303 && effects !== 'read')
    return ok(value, `HTTP 303: done; its result is at '${showText(value.location)}'. Do not repeat this call.`);
  if (isRedirect(status) && plan.answeredRedirects.has(status)) return value;
  throw toRedirectFailure(answer, effects, removeSecrets.fromFailure);
};

/** Of a write that was confirmed only the answer is missing: that is a success, and says so. */
const toUnheard = (silence: NoAnswer & Fetched, { effects, importName }: AnswerOptions): unknown => {
  const { status, redirects } = silence;
  if (effects !== 'read' && status !== undefined && isSuccess(status))
    return ok(null, `HTTP ${status}: done, but the API's answer was lost in transit. Do not repeat this call.`);
  const failure = toSilenceFailure(silence, importName);
  throw redirects === 0 ? failure : afterRedirect(failure, effects);
};

const toFailure = (answer: Answer & Fetched, options: AnswerOptions): Error => {
  const text = options.removeSecrets.fromFailure(toText(answer.body.bytes, contentTypeOf(answer), 'cut') ?? '');
  const parsed = parseExactJson(text);
  const body = parsed.ok ? parsed.value : text;
  const shown = text.length > MOST_PAYLOAD_CHARACTERS || !parsed.ok ? showText(text, MOST_PAYLOAD_CHARACTERS) : body;
  const value = { status: answer.status, body: shown === '' ? null : shown };
  const failure = toStatusFailure(answer, toApiMessage(body), value, options);
  return answer.redirects === 0 ? failure : afterRedirect(failure, options.effects);
};

const contentTypeOf = ({ headers }: Answer): string => headers.get('content-type') ?? '';

const toSuccess = (answer: Answer, options: AnswerOptions): unknown => {
  const { status, body, headers } = answer;
  const { plan, effects } = options;
  if (plan.method === 'HEAD') return toHead(answer);
  if (body.cut !== null) return toCutValue(answer, body.cut, options);
  if (isBlank(answer))
    return effects === 'read'
      ? empty(`HTTP ${status}: the API answered without content.`)
      : ok(null, `HTTP ${status}: done; the API answered without content.`);
  const value = toValue(answer, options);
  const location = headers.get('location');
  if (status !== 202) return value;
  const where =
    location === undefined ? '' : ` Its state is at '${showText(options.removeSecrets.fromAnswer(location))}'.`;
  return ok(value, `HTTP 202: the API accepted this and is still processing it.${where}`);
};

/** Whether a body says nothing: none, or for JSON nothing but white space. */
const isBlank = (answer: Answer): boolean => {
  const { bytes } = answer.body;
  return bytes.byteLength === 0 || (isJson(answer) && bytes.every((byte) => WHITE_SPACE.has(byte)));
};

// With the three bytes of a byte order mark.
const WHITE_SPACE: ReadonlySet<number> = new Set([0x09, 0x0a, 0x0d, 0x20, 0xef, 0xbb, 0xbf]);

const isJson = (answer: Answer): boolean => /^[^;]*[/+]json\b/i.test(contentTypeOf(answer));

const toHead = ({ status, headers }: Answer) => ({
  status,
  headers: Object.fromEntries(
    ['content-type', 'content-length', 'etag', 'last-modified', 'link'].flatMap((name) => {
      const value = headers.get(name);
      return value === undefined ? [] : [[name, value]];
    }),
  ),
});

const toValue = (answer: Answer, options: AnswerOptions): unknown => {
  const contentType = contentTypeOf(answer);
  const { bytes } = answer.body;
  const given = toText(bytes, contentType, 'complete');
  if (given === null) return { content_type: showText(contentType), bytes: bytes.byteLength, text: null };
  const text = options.removeSecrets.fromAnswer(given);
  const isSaidJson = isJson(answer);
  if (!isSaidJson && contentType !== '') return { content_type: showText(contentType), text };
  if (hasMoreParts(text, MOST_PARTS))
    return isSaidJson ? toCutValue(answer, 'values', options) : { content_type: null, text };
  const parsed = parseExactJson(text);
  if (parsed.ok) return parsed.value;
  return isSaidJson ? toBrokenValue(answer, options) : { content_type: null, text };
};

const toBrokenValue = ({ status }: Answer, { effects }: AnswerOptions): unknown => {
  if (effects !== 'read')
    return ok(null, `HTTP ${status}: done, but the API's answer is not valid JSON. Do not repeat this call.`);
  throw new UpstreamToolError('upstream_unavailable', `HTTP ${status}: the API's answer is not valid JSON.`, {
    executed: 'maybe',
    hint: 'Try again, or ask for something else.',
  });
};

const toCutValue = (
  { status }: Answer,
  cut: 'size' | 'time' | 'values',
  { effects, maxResponseBytes }: AnswerOptions,
): unknown => {
  const what = {
    size: `is larger than ${maxResponseBytes} bytes`,
    time: 'was not complete in time',
    values: `has more than ${MOST_PARTS} values and names`,
  }[cut];
  if (effects !== 'read')
    return ok(null, `HTTP ${status}: done, but the API's answer ${what} and was left out. Do not repeat this call.`);
  if (cut === 'time')
    throw new UpstreamToolError('upstream_unavailable', `HTTP ${status}: the API's answer ${what}.`, {
      executed: 'maybe',
    });
  throw new RetryableToolError(`HTTP ${status}: the API's answer ${what}.`, {
    hint: 'Ask for less: a smaller page, fewer fields, a narrower filter.',
    executed: 'yes',
  });
};

type Failure = RetryableToolError | TerminalToolError | UpstreamToolError;
type Verdict = readonly [kind: 'retry' | 'failed' | 'human' | 'busy', says: string];

// What each status means for whoever called; RFC 9110, section 15.5, and RFC 6585.
const VERDICTS: ReadonlyMap<number, Verdict> = new Map<number, Verdict>([
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

const verdictOn = (status: number): Verdict => {
  if (status >= 500) return ['busy', 'the API failed'];
  return VERDICTS.get(status) ?? ['retry', 'the API refused the request'];
};

// Answered before anything was done; any other failure of a server may have come half-way.
const NOT_EXECUTED: ReadonlySet<number> = new Set([425, 429]);

/** The error for an answer of 400 or above. For a write, `executed` is `no` for what the API refused. */
const toStatusFailure = (
  answer: Answer,
  apiMessage: string | null,
  value: unknown,
  { importName, nowMs }: AnswerOptions,
): Failure => {
  const [kind, says] = verdictOn(answer.status);
  const text = `HTTP ${answer.status}: ${endSentence(apiMessage ?? says)}`;
  if (kind === 'busy' || isHiddenRateLimit(answer)) return toBusyFailure(answer, text, nowMs);
  if (kind === 'retry')
    return new RetryableToolError(text, { value, hint: 'Correct the arguments, or read the current state first.' });
  const hint =
    kind === 'human'
      ? `A human must correct the setting 'auth' of the OpenAPI import '${importName}'.`
      : 'Do not repeat this call.';
  return new TerminalToolError(text, { value, executed: 'no', hint });
};

/** 403 with a wait: how GitHub and others say 429. */
const isHiddenRateLimit = ({ status, headers }: Answer): boolean =>
  status === 403 && (headers.has('retry-after') || headers.get('x-ratelimit-remaining') === '0');

const toBusyFailure = (answer: Answer, text: string, nowMs: number): UpstreamToolError => {
  const retryAfterMs = retryAfterOf(answer, nowMs);
  const isLimit = answer.status === 429 || answer.status === 403;
  const executed: Extract<Executed, 'no' | 'maybe'> = isLimit || NOT_EXECUTED.has(answer.status) ? 'no' : 'maybe';
  const when = retryAfterMs === undefined ? 'later' : `in ${Math.max(1, Math.ceil(retryAfterMs / 1_000))} s`;
  return new UpstreamToolError(
    isLimit ? 'upstream_rate_limited' : 'upstream_unavailable',
    executed === 'no' ? `${text} Try again ${when}.` : text,
    { executed, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) },
  );
};

/** A redirect that leads out of what the import may ask. */
const toRedirectFailure = (
  { status, headers }: Answer,
  effects: Effects,
  removeSecrets: (text: string) => string,
): Failure => {
  const target = showUrl(removeSecrets(headers.get('location') ?? 'nowhere'));
  const text = `HTTP ${status}: the API redirects to '${target}', which is not followed.`;
  return effects === 'read'
    ? new TerminalToolError(text, { hint: 'Do not repeat this call.' })
    : new UpstreamToolError('upstream_unavailable', text, { executed: 'maybe' });
};

/**
 * The error for a write that was redirected: whoever redirected it may have done it, whatever the last place says. What
 * would say otherwise says `maybe`.
 */
const afterRedirect = (failure: Failure, effects: Effects): Failure => {
  if (effects === 'read' || failure.executed === 'maybe') return failure;
  const { message, hint, cause } = failure;
  const options = { executed: 'maybe', cause, ...(hint === undefined ? {} : { hint }) } as const;
  if (failure instanceof TerminalToolError) return new TerminalToolError(message, { ...options, value: failure.value });
  // Of an idempotent call, which may be repeated, the arguments are what counts.
  if (failure instanceof RetryableToolError)
    return effects === 'write'
      ? new UpstreamToolError('upstream_unavailable', message, { executed: 'maybe', cause })
      : new RetryableToolError(message, { ...options, value: failure.value });
  const { retryAfterMs } = failure;
  const isLimit = failure[TOOL_ERROR] === 'upstream_rate_limited';
  return new UpstreamToolError(isLimit ? 'upstream_rate_limited' : 'upstream_unavailable', message, {
    ...options,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
};

const MOST_SHOWN = 600;
const MOST_ERRORS = 5;
// In the order in which they say most.
const TEXTS = [
  ...['detail', 'message', 'error_description', 'errorMessage', 'error_message', 'description', 'reason', 'err', 'msg'],
  'faultstring',
];
const PLACES = ['field', 'path', 'param', 'parameter', 'pointer', 'name', 'location', 'property'];
const WORDS = ['message', 'detail', 'msg', 'title', 'description', 'reason', 'code', 'error', 'type'];

/**
 * What an API says is wrong, as one line: RFC 9457 (`title`, `detail`), `message`, `error`, `error.message`, and the
 * entries of `errors` and `detail`; of other text its beginning; null where it says nothing. HTML says nothing.
 */
const toApiMessage = (body: unknown): string | null => {
  const text = typeof body === 'string' ? plainTextOf(body) : isRecord(body) ? toMessageText(body) : toListText(body);
  return text === '' ? null : showText(text.replace(/\s+/g, ' ').trim(), MOST_SHOWN);
};

const plainTextOf = (body: string): string => (/^\s*</.test(body) ? '' : body.trim());

const toMessageText = (body: JsonRecord): string => {
  const inner = recordAt(body, 'error');
  const sources = [body, inner, recordAt(body, 'fault'), recordAt(body, 'meta')];
  const main =
    sources.map((one) => firstText(one, TEXTS)).find((text) => text !== '') ??
    textAt(body, 'error') ??
    textAt(body, 'title') ??
    '';
  const title = textAt(body, 'title');
  const headed = title !== undefined && title !== main && 'detail' in body ? `${title}: ${main}` : main;
  const entries = [body, inner].flatMap((one) =>
    ['errors', 'detail', 'details', 'issues'].flatMap((name) => entriesOf(one, name)),
  );
  const details = [...new Set(entries)].filter((detail) => detail !== main);
  return [headed, details.slice(0, MOST_ERRORS).join('; ')].filter((part) => part !== '').join(': ');
};

const toListText = (body: unknown): string => {
  const entries = Array.isArray(body) ? body.slice(0, MOST_ERRORS).map(toEntry) : [];
  return entries.filter((text) => text !== '').join('; ');
};

/** `errors: [{field, message}]`, `errors: ["…"]` and `errors: {field: ["…"]}`. */
const entriesOf = (body: JsonRecord, name: string): readonly string[] => {
  const list = listAt(body, name);
  const named = Object.entries(recordAt(body, name)).map(([field, value]) => {
    const texts = [value].flat().filter((item) => typeof item === 'string');
    return texts.length === 0 ? '' : `${field}: ${texts.join(', ')}`;
  });
  return [...list.map(toEntry), ...named].filter((text) => text !== '');
};

const toEntry = (entry: unknown): string => {
  if (typeof entry === 'string') return entry;
  if (!isRecord(entry)) return '';
  const location = listAt(entry, 'loc')
    .filter((step) => typeof step === 'string' || typeof step === 'number')
    .join('.');
  const place = location || firstText(entry, PLACES) || textAt(recordAt(entry, 'source'), 'pointer') || '';
  const words = firstText(entry, WORDS);
  return [place, words].filter((part) => part !== '').join(': ');
};

const firstText = (entry: JsonRecord, names: readonly string[]): string =>
  names.map((name) => textAt(entry, name)).find((text) => text !== undefined) ?? '';
