import {
  ACCEPT_ENCODING,
  type AddressPolicy,
  type Answer,
  createClientOpener,
  createDnsLookup,
  createFetchPolicy,
  createResponseFailure,
  type Fetched,
  isAnyAddress,
  isSuccess,
  type Lookup,
  lookupBySystem,
  parseTargetUrl,
  type RetryClock,
  showText,
  showUrl,
  systemRetryClock,
  toText,
} from '@recourse/toolkit-kit/http';
import { defineTool, empty, ok, RetryableToolError } from 'recourse-server';
import type { InlineTool, ToolContext } from 'recourse-server/extension';
import * as z from 'zod';

export type FetchUrlOptions = {
  /** FETCH_ALLOW_PRIVATE: `allow` only for tests and closed networks. */
  readonly privateAddresses: 'refuse' | 'allow';
  readonly userAgent?: string;
  /** How names become addresses. Default: the name servers; with `allow` the operating system. */
  readonly lookup?: Lookup;
  /** FETCH_ALLOW_ADDRESSES: what `refuse` lets through all the same. Default: nothing. */
  readonly allowedAddresses?: readonly string[];
  /** What `refuse` takes for public. Default: global unicast that is neither this machine's nor its neighbours'. */
  readonly isPublic?: AddressPolicy;
  readonly clock?: RetryClock;
  /** Milliseconds for one call, redirects and retries included; shorter than the tool's own limit. */
  readonly limitMs?: number;
};

const TIMEOUT_MS = 30_000;
// Below TIMEOUT_MS, so that a slow server is told as such, and what came of a slow page is given back.
const DEFAULT_LIMIT_MS = 29_000;
// About 16 000 tokens of English: a page, not a context window.
const DEFAULT_MAX_BYTES = 65_536;
// Text at most doubles as a JSON string unless it is full of control characters: below MAX_RESULT_BYTES.
const MOST_BYTES = 500_000;
const MOST_URL_CHARACTERS = 8_000;
const DEFAULT_USER_AGENT = 'recourse-fetch-url';

const input = z.object({
  url: z
    .string()
    .min(1)
    .max(MOST_URL_CHARACTERS)
    .describe('An absolute http or https URL of the public internet.')
    .meta({ examples: ['https://example.com/page'] }),
  max_bytes: z
    .int()
    .min(1)
    .max(MOST_BYTES)
    .default(DEFAULT_MAX_BYTES)
    .describe('How much of the content to return, in bytes; the rest is cut off.'),
});

const output = z.object({
  url: z.string().describe('The final URL, after redirects.'),
  status: z.int(),
  content_type: z.string().nullable(),
  content: z.string(),
  truncated: z.boolean().describe('True if the content is only the beginning.'),
  attempts: z.int().describe('Number of requests until the URL answered.'),
});

/**
 * The tool `fetch_url` (GET, text only), and `close`, which ends its connections. Refuses addresses that are not public
 * at every hop before anything is sent, follows at most 5 redirects, and tries up to 3 times where a failure passes.
 */
export const createFetchUrl = (
  options: FetchUrlOptions,
): { readonly tool: InlineTool; readonly close: () => Promise<void> } => {
  const { privateAddresses, clock = systemRetryClock, limitMs = DEFAULT_LIMIT_MS } = options;
  const isPublic = options.isPublic ?? createFetchPolicy({ allowed: options.allowedAddresses ?? [] });
  const ports = privateAddresses === 'allow' ? 'any' : 'web';
  const client = createClientOpener({
    mayConnect: privateAddresses === 'allow' ? isAnyAddress : isPublic,
    lookup: options.lookup ?? (privateAddresses === 'allow' ? lookupBySystem : createDnsLookup()),
    ports,
    clock,
  });
  const headers = {
    'user-agent': options.userAgent ?? DEFAULT_USER_AGENT,
    accept: 'text/*, application/json, application/xml;q=0.9, */*;q=0.5',
    'accept-encoding': ACCEPT_ENCODING,
  };
  const run = async ({ url: text, max_bytes: maxBytes }: z.output<typeof input>, { signal }: ToolContext) => {
    const url = parseTargetUrl(text, ports);
    const { get } = await client.open();
    const fetched = await get({ url, headers, maxBytes, limitMs, signal });
    if (fetched.kind === 'answer' && isSuccess(fetched.status)) return createPage(fetched, maxBytes);
    throw createResponseFailure(fetched, { url, limitMs, nowMs: clock.now() });
  };
  const tool = defineTool({
    name: 'fetch_url',
    description:
      'Fetches a public http or https URL with GET and returns its text (HTML, JSON, XML, plain text, …). Follows redirects. ' +
      'Cannot log in, run scripts, or read images, PDF and other binary content.',
    effects: 'read',
    timeoutMs: TIMEOUT_MS,
    // One site that is down must not close the tool for all others.
    breakerKey: ({ url }) => readOrigin(url),
    input,
    output,
    run,
  });
  return { tool, close: client.close };
};

const readOrigin = (sent: unknown): string => {
  const origin = typeof sent === 'string' ? URL.parse(sent)?.origin : undefined;
  return origin === undefined || origin === 'null' ? '' : origin;
};

const createPage = ({ url, status, headers, body, attempts }: Answer & Fetched, maxBytes: number) => {
  const contentType = headers.get('content-type') ?? '';
  const content = toText(body.bytes, contentType, body.cut === null ? 'complete' : 'cut');
  const about = { url: url.href, status, content_type: contentType === '' ? null : showText(contentType) };
  if (content === null)
    throw new RetryableToolError(
      `URL '${showUrl(url)}' is ${about.content_type ?? 'binary'}, not text. Use a URL that answers with text, such as an HTML page.`,
      { value: { ...about, attempts } },
    );
  const page = { ...about, content, truncated: body.cut !== null, attempts };
  switch (body.cut) {
    case 'size':
      return ok(page, `Only the first ${maxBytes} bytes are shown.${adviseOnSize(maxBytes)}`);
    case 'time':
      return ok(page, 'The server was too slow: only the part that arrived in time is shown.');
    case null:
      return content === '' ? empty(`URL '${showUrl(url)}' answered without content.`, page) : page;
  }
};

const adviseOnSize = (maxBytes: number): string =>
  maxBytes < MOST_BYTES ? ` For more, call again with a larger max_bytes (at most ${MOST_BYTES}).` : '';
