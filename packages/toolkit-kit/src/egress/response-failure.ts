import { RetryableToolError, TerminalToolError, UpstreamToolError } from 'recourse-server/tools/tool-errors';
import type { Answer, NoAnswer } from './exchange.ts';
import type { Fetched } from './http-client.ts';
import { toSeconds } from './response-status.ts';
import { showText, showUrl } from './show-url.ts';
import { toText } from './text-content.ts';
import { isTransientStatus, retryAfterOf } from './transport-retries.ts';

/** What the failure text needs to know of the call. Times in milliseconds. */
type RequestFacts = { readonly url: URL; readonly limitMs: number; readonly nowMs: number };

type Failure = RetryableToolError | TerminalToolError | UpstreamToolError;

/**
 * The error for a GET that brought no content. Retryable where another URL may work, terminal where this place refuses
 * whoever asks, upstream where it cannot be reached or is busy. Texts: seed 001 for 404 and 429.
 */
export const createResponseFailure = (fetched: Fetched, request: RequestFacts): Failure => {
  if (fetched.kind === 'no_answer') return createSilenceFailure(fetched, request);
  return isTransientStatus(fetched.status)
    ? createBusyFailure(fetched, request)
    : createStatusFailure(fetched, showUrl(request.url));
};

type StatusTexts = ReadonlyMap<number, (url: string) => string>;

/** Where another URL may work. */
const RETRYABLE: StatusTexts = new Map([
  [400, (url) => `the server does not understand URL '${url}'. Correct its path or query.`],
  [404, (url) => `URL '${url}' not found. Try a different URL.`],
  [410, (url) => `URL '${url}' no longer exists. Try a different URL.`],
  [414, (url) => `URL '${url}' is too long for the server. Send a shorter one.`],
  [422, (url) => `the server cannot process URL '${url}'. Correct its path or query.`],
]);

/** Where this server refuses whoever asks. */
const TERMINAL: StatusTexts = new Map([
  [401, (url) => `URL '${url}' needs a login, and none is sent. Use a source that is open to everyone.`],
  [402, (url) => `URL '${url}' requires payment. Use another source.`],
  [403, (url) => `access to URL '${url}' is forbidden. Use another source.`],
  [405, (url) => `URL '${url}' does not answer GET requests. Use another source.`],
  [451, (url) => `URL '${url}' is withheld for legal reasons. Use another source.`],
]);

const FIRST_SERVER_ERROR = 500;

const createStatusFailure = (fetched: Answer & Fetched, url: string): Failure => {
  const { status } = fetched;
  const options = { value: describeErrorBody(fetched) };
  const terminal = TERMINAL.get(status)?.(url);
  if (terminal !== undefined) return new TerminalToolError(`HTTP ${status}: ${terminal}`, options);
  if (status >= FIRST_SERVER_ERROR)
    return new TerminalToolError(`HTTP ${status}: the server failed on URL '${url}'. Use another source.`, options);
  const retryable = RETRYABLE.get(status)?.(url) ?? `URL '${url}' did not answer with content. Try a different URL.`;
  return new RetryableToolError(`HTTP ${status}: ${retryable}`, options);
};

// The server's own words often name the mistake: `{"error": "unknown parameter 'pag'"}`.
const describeErrorBody = ({ url, status, headers, body, attempts }: Answer & Fetched) => {
  const contentType = headers.get('content-type') ?? '';
  return {
    url: showUrl(url),
    status,
    content_type: contentType === '' ? null : showText(contentType),
    content: toText(body.bytes, contentType, 'cut') ?? '',
    attempts,
  };
};

const createBusyFailure = (fetched: Answer & Fetched, { url, nowMs }: RequestFacts): UpstreamToolError => {
  const { status } = fetched;
  const retryAfterMs = retryAfterOf(fetched, nowMs);
  const when = retryAfterMs === undefined ? 'later' : `in ${toSeconds(retryAfterMs)}`;
  const options = { ...describeAttempts(fetched), ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
  const advice = `Try again ${when} or use another source.`;
  if (status === 429) {
    const message = `Rate limit exceeded (429). ${advice}`;
    return new UpstreamToolError('upstream_rate_limited', message, { ...options, executed: 'no' });
  }
  const message = `HTTP ${status}: the server of URL '${showUrl(url)}' is not available. ${advice}`;
  // Whatever stands before the server may have passed the request on before it gave up.
  return new UpstreamToolError('upstream_unavailable', message, { ...options, executed: 'maybe' });
};

const describeAttempts = ({ attempts }: Fetched): { readonly hint?: string } =>
  attempts === 1 ? {} : { hint: `This was already tried ${attempts} times; wait before calling again.` };

const LATER = 'Try again later or use another source.';

const createSilenceFailure = (fetched: NoAnswer & Fetched, { url, limitMs }: RequestFacts): Failure => {
  const { executed, cause, code, reason } = fetched;
  const host = showText(fetched.url.host);
  const unavailable = (text: string): UpstreamToolError =>
    new UpstreamToolError('upstream_unavailable', text, { executed, cause, ...describeAttempts(fetched) });
  const terminal = (text: string): TerminalToolError =>
    new TerminalToolError(`${text}. Use another source.`, { cause });
  switch (reason) {
    case 'address_refused':
      return new RetryableToolError(explainRefusal(fetched.url, url), { cause });
    case 'not_sent':
      return terminal(`URL '${showUrl(url)}' cannot be requested (${code})`);
    case 'bad_certificate':
      return terminal(`No secure connection to '${host}' (${code})`);
    case 'unreadable':
      return terminal(`'${host}' sent an answer that cannot be read (${showText(code)})`);
    case 'no_such_host':
      return unavailable(`There is no host '${host}' (${code}). Check its spelling or use another source.`);
    case 'too_slow':
      return unavailable(`URL '${showUrl(fetched.url)}' did not answer within ${toSeconds(limitMs)}. ${LATER}`);
    case 'lookup_failed':
      return unavailable(`The address of host '${host}' could not be resolved (${code}). ${LATER}`);
    case 'not_connected':
      return unavailable(`No connection to '${host}' (${code}). ${LATER}`);
    case 'lost':
      return unavailable(`The connection to '${host}' broke before the answer was complete (${code}). ${LATER}`);
  }
};

const explainRefusal = (url: URL, requested: URL): string =>
  url.href === requested.href
    ? `URL '${showUrl(url)}' was not fetched: its address is not public. Use a public URL.`
    : `URL '${showUrl(requested)}' redirects to '${showUrl(url)}', whose address is not public. Use a public URL.`;
