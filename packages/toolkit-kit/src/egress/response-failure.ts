import { RetryableToolError, TerminalToolError, UpstreamToolError } from 'recourse-server/tools/tool-errors';
import type { Answer, NoAnswer } from './exchange.ts';
import type { Fetched } from './http-client.ts';
import { toSeconds } from './response-status.ts';
import { showText, showUrl } from './show-url.ts';
import { toText } from './text-content.ts';
import { isTransientStatus, retryAfterOf } from './transport-retries.ts';

/** What the failure text needs to know of the call. Times in milliseconds. */
type AskedFor = { readonly url: URL; readonly limitMs: number; readonly nowMs: number };

type Failure = RetryableToolError | TerminalToolError | UpstreamToolError;

/**
 * The error for a GET that brought no content. Retryable where another URL may work, terminal where this place refuses
 * whoever asks, upstream where it cannot be reached or is busy. Texts: seed 001 for 404 and 429.
 */
export const toResponseFailure = (fetched: Fetched, asked: AskedFor): Failure => {
  if (fetched.kind === 'no_answer') return toSilenceFailure(fetched, asked);
  return isTransientStatus(fetched.status) ? toBusyFailure(fetched, asked) : toStatusFailure(fetched, asked);
};

type Verdict = { readonly kind: 'retryable' | 'terminal'; readonly text: (url: string) => string };
const retryable = (text: Verdict['text']): Verdict => ({ kind: 'retryable', text });
const terminal = (text: Verdict['text']): Verdict => ({ kind: 'terminal', text });

const VERDICTS: ReadonlyMap<number, Verdict> = new Map([
  [400, retryable((url) => `HTTP 400: the server does not understand URL '${url}'. Correct its path or query.`)],
  [
    401,
    terminal((url) => `HTTP 401: URL '${url}' needs a login, and none is sent. Use a source that is open to everyone.`),
  ],
  [402, terminal((url) => `HTTP 402: URL '${url}' requires payment. Use another source.`)],
  [403, terminal((url) => `HTTP 403: access to URL '${url}' is forbidden. Use another source.`)],
  [404, retryable((url) => `HTTP 404: URL '${url}' not found. Try a different URL.`)],
  [405, terminal((url) => `HTTP 405: URL '${url}' does not answer GET requests. Use another source.`)],
  [410, retryable((url) => `HTTP 410: URL '${url}' no longer exists. Try a different URL.`)],
  [414, retryable((url) => `HTTP 414: URL '${url}' is too long for the server. Send a shorter one.`)],
  [422, retryable((url) => `HTTP 422: the server cannot process URL '${url}'. Correct its path or query.`)],
  [451, terminal((url) => `HTTP 451: URL '${url}' is withheld for legal reasons. Use another source.`)],
]);

const FIRST_SERVER_ERROR = 500;

const verdictOn = (status: number): Verdict => {
  const known = VERDICTS.get(status);
  if (known !== undefined) return known;
  if (status >= FIRST_SERVER_ERROR)
    return terminal((url) => `HTTP ${status}: the server failed on URL '${url}'. Use another source.`);
  return retryable((url) => `HTTP ${status}: URL '${url}' did not answer with content. Try a different URL.`);
};

const toStatusFailure = (fetched: Answer & Fetched, asked: AskedFor): Failure => {
  const { kind, text } = verdictOn(fetched.status);
  const message = text(showUrl(asked.url));
  const value = toErrorPayload(fetched);
  return kind === 'terminal' ? new TerminalToolError(message, { value }) : new RetryableToolError(message, { value });
};

// The server's own words often name the mistake: `{"error": "unknown parameter 'pag'"}`.
const toErrorPayload = ({ url, status, headers, body, attempts }: Answer & Fetched) => {
  const contentType = headers.get('content-type') ?? '';
  return {
    url: showUrl(url),
    status,
    content_type: contentType === '' ? null : showText(contentType),
    content: toText(body.bytes, contentType, 'cut') ?? '',
    attempts,
  };
};

const toBusyFailure = (fetched: Answer & Fetched, asked: AskedFor): UpstreamToolError => {
  const retryAfterMs = retryAfterOf(fetched, asked.nowMs);
  const when = retryAfterMs === undefined ? 'later' : `in ${toSeconds(retryAfterMs)}`;
  const options = { ...triedHint(fetched), ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
  if (fetched.status === 429)
    return new UpstreamToolError(
      'upstream_rate_limited',
      `Rate limit exceeded (429). Try again ${when} or use another source.`,
      { ...options, executed: 'no' },
    );
  return new UpstreamToolError(
    'upstream_unavailable',
    `HTTP ${fetched.status}: the server of URL '${showUrl(asked.url)}' is not available. Try again ${when} or use another source.`,
    // Whatever stands before the server may have passed the request on before it gave up.
    { ...options, executed: 'maybe' },
  );
};

const triedHint = ({ attempts }: Fetched): { readonly hint?: string } =>
  attempts === 1 ? {} : { hint: `This was already tried ${attempts} times; wait before calling again.` };

const toSilenceFailure = (fetched: NoAnswer & Fetched, asked: AskedFor): Failure => {
  const { executed, cause, code, reason } = fetched;
  const host = showText(fetched.url.host);
  const unavailable = (text: string): UpstreamToolError =>
    new UpstreamToolError('upstream_unavailable', text, { executed, cause, ...triedHint(fetched) });
  switch (reason) {
    case 'address_refused':
      return new RetryableToolError(toRefusal(fetched.url, asked.url), { cause });
    case 'not_sent':
      return new TerminalToolError(`URL '${showUrl(asked.url)}' cannot be requested (${code}). Use another source.`, {
        cause,
      });
    case 'no_such_host':
      return unavailable(`There is no host '${host}' (${code}). Check its spelling or use another source.`);
    case 'lookup_failed':
      return unavailable(
        `The address of host '${host}' could not be resolved (${code}). Try again later or use another source.`,
      );
    case 'not_connected':
      return unavailable(`No connection to '${host}' (${code}). Try again later or use another source.`);
    case 'lost':
      return unavailable(
        `The connection to '${host}' broke before the answer was complete (${code}). Try again later or use another source.`,
      );
    case 'too_slow':
      return unavailable(
        `URL '${showUrl(fetched.url)}' did not answer within ${toSeconds(asked.limitMs)}. Try again later or use another source.`,
      );
    case 'bad_certificate':
      return new TerminalToolError(`No secure connection to '${host}' (${code}). Use another source.`, { cause });
    case 'unreadable':
      return new TerminalToolError(
        `'${host}' sent an answer that cannot be read (${showText(code)}). Use another source.`,
        { cause },
      );
  }
};

const toRefusal = (url: URL, asked: URL): string =>
  url.href === asked.href
    ? `URL '${showUrl(url)}' was not fetched: its address is not public. Use a public URL.`
    : `URL '${showUrl(asked)}' redirects to '${showUrl(url)}', whose address is not public. Use a public URL.`;
