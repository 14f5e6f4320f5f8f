import type { Effects } from '../../../contract/failure.ts';
import type { Answer, NoAnswer } from '../../http/exchange.ts';
import type { Fetched } from '../../http/http-client.ts';
import { isSuccess } from '../../http/is-success.ts';
import { isRedirect } from '../../http/redirects.ts';
import { showText } from '../../http/show-url.ts';
import { toText } from '../../http/text-content.ts';
import { RetryableToolError, UpstreamToolError } from '../../tool-errors.ts';
import { empty, ok } from '../../tool-values.ts';
import { hasMoreParts } from '../document/json-parts.ts';
import { toSilenceFailure } from '../document/silence-failure.ts';
import type { OperationPlan } from '../operation/operation-plan.ts';
import { afterRedirect, toAnswerFailure, toRedirectFailure } from './answer-failure.ts';
import { toApiMessage } from './api-message.ts';
import { parseJsonBody } from './parse-json-body.ts';

export type AnswerOptions = {
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
    return ok(null, `HTTP ${status}: done, but the API's answer was lost on its way. Do not repeat this call.`);
  const failure = toSilenceFailure(silence, importName);
  throw redirects === 0 ? failure : afterRedirect(failure, effects);
};

const toFailure = (answer: Answer & Fetched, { effects, importName, nowMs, removeSecrets }: AnswerOptions): Error => {
  const text = removeSecrets.fromFailure(toText(answer.body.bytes, contentTypeOf(answer), 'cut') ?? '');
  const parsed = parseJsonBody(text);
  const body = parsed.ok ? parsed.value : text;
  const shown = text.length > MOST_PAYLOAD_CHARACTERS || !parsed.ok ? showText(text, MOST_PAYLOAD_CHARACTERS) : body;
  const failure = toAnswerFailure(answer, {
    importName,
    nowMs,
    apiMessage: toApiMessage(body),
    payload: { status: answer.status, body: shown === '' ? null : shown },
  });
  return answer.redirects === 0 ? failure : afterRedirect(failure, effects);
};

const contentTypeOf = ({ headers }: Answer): string => headers.get('content-type') ?? '';

const toSuccess = (answer: Answer, options: AnswerOptions): unknown => {
  const { status, body, headers } = answer;
  const { plan, effects } = options;
  if (plan.method === 'HEAD') return toHead(answer);
  if (body.cut !== null) return toCutValue(answer, body.cut, options);
  if (body.bytes.byteLength === 0)
    return effects === 'read'
      ? empty(`HTTP ${status}: the API answered without content.`)
      : ok(null, `HTTP ${status}: done; the API answered without content.`);
  const value = toValue(answer, options);
  const location = headers.get('location');
  if (status !== 202) return value;
  const where =
    location === undefined ? '' : ` Its state is at '${showText(options.removeSecrets.fromAnswer(location))}'.`;
  return ok(value, `HTTP 202: the API has accepted this and has not finished it yet.${where}`);
};

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
  const isJson = /^[^;]*[/+]json\b/i.test(contentType);
  if (!isJson && contentType !== '') return { content_type: showText(contentType), text };
  if (hasMoreParts(text, MOST_PARTS))
    return isJson ? toCutValue(answer, 'values', options) : { content_type: null, text };
  const parsed = parseJsonBody(text);
  if (parsed.ok) return parsed.value;
  return isJson ? toBrokenValue(answer, options) : { content_type: null, text };
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
    time: 'did not come to its end in time',
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
