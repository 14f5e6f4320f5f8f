import type { Effects } from 'recourse-server/contract/failure';
import { RetryableToolError } from 'recourse-server/tools/tool-errors';
import { showUrl } from './show-url.ts';
import { objectionTo, type PortRule } from './target-url.ts';

export type RequestHeaders = Readonly<Record<string, string>>;
export type HttpMethod = 'GET' | 'HEAD' | 'OPTIONS' | 'PUT' | 'POST' | 'PATCH' | 'DELETE' | 'TRACE';

/** Where a request goes and what it carries. Without a method it is a GET. */
export type Hop = {
  readonly url: URL;
  readonly headers: RequestHeaders;
  readonly method?: HttpMethod;
  readonly body?: string | Uint8Array;
};

/** The hop that an answer of this status with this `Location` leads to; null where it is not followed. May throw. */
export type NextHop = (trail: readonly [Hop, ...Hop[]], status: number, location: string) => Hop | null;

export const MAX_REDIRECTS = 5;
const REDIRECT_STATUSES: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

// What may cross to another origin. A list of what may, not of what may not: an API key travels in any header.
const HEADERS_FOR_ANYONE: ReadonlySet<string> = new Set(['accept', 'accept-encoding', 'accept-language', 'user-agent']);

/** Whether an answer of this status sends a request elsewhere (RFC 9110, section 15.4). */
export const isRedirect = (status: number): boolean => REDIRECT_STATUSES.has(status);

/**
 * The next hop of a redirect. `trail` holds the hops so far, the first being what was asked for. Throws a
 * RetryableToolError where the redirect is not followed: too many, a loop, https to http, a bad target.
 */
export const decideNextHop = (trail: readonly [Hop, ...Hop[]], location: string, ports: PortRule): Hop => {
  const asked = showUrl(trail[0].url);
  const from = trail.at(-1) ?? trail[0];
  const refuse = (what: string): never => {
    throw new RetryableToolError(`URL '${asked}' redirects ${what}. Try a different URL.`);
  };
  const url = URL.parse(location, from.url);
  if (url === null) return refuse(`to '${showUrl(location)}', which is not a URL`);
  const objection = objectionTo(url, ports);
  if (objection !== null) return refuse(`to '${showUrl(url)}': ${objection}`);
  if (from.url.protocol === 'https:' && url.protocol === 'http:')
    return refuse(`from https to http, to '${showUrl(url)}'`);
  if (trail.some((hop) => withoutFragment(hop.url) === withoutFragment(url))) return refuse('in a loop');
  if (trail.length > MAX_REDIRECTS) return refuse(`more than ${MAX_REDIRECTS} times`);
  return { url, headers: url.origin === from.url.origin ? from.headers : pickHeadersForAnyone(from.headers) };
};

// A fragment is never sent: two URLs that differ in it alone are one place.
const withoutFragment = (url: URL): string => url.href.replace(/#.*$/s, '');

const pickHeadersForAnyone = (headers: RequestHeaders): RequestHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => HEADERS_FOR_ANYONE.has(name.toLowerCase())));

/** Whether a URL lies on the origin of `base` and below its path. */
export const isBelow = (url: URL, base: URL): boolean => {
  const path = base.pathname.replace(/\/+$/, '');
  return url.origin === base.origin && (url.pathname === path || url.pathname.startsWith(`${path}/`));
};

/**
 * Follows redirects that stay below `base`, at most five, no place twice; of any other the answer itself is what came.
 * 307 and 308 repeat the request as it was. 303 asks the new place with GET, for reads alone: of others it says that they
 * are done, and what the new place answers says nothing of that. 301 and 302 are followed for GET and HEAD that are no
 * writes, since nothing tells what they mean for others (RFC 9110, section 15.4).
 */
export const createPinnedRedirects =
  (base: URL, effects: Effects): NextHop =>
  (trail, status, location) => {
    const from = trail.at(-1) ?? trail[0];
    const url = URL.parse(location, from.url);
    if (url === null || url.username !== '' || url.password !== '' || !isBelow(url, base)) return null;
    const next = decideRepeat(from, status, url, effects);
    if (next === null || trail.length > MAX_REDIRECTS || trail.some((hop) => isSame(hop, next))) return null;
    return next;
  };

const decideRepeat = (from: Hop, status: number, url: URL, effects: Effects): Hop | null => {
  const { method = 'GET', headers } = from;
  if (status === 307 || status === 308) return { ...from, url };
  if (effects === 'write' || (status === 303 && effects !== 'read')) return null;
  if (method === 'GET' || method === 'HEAD') return { ...from, url };
  return status === 303 ? { url, method: 'GET', headers: withoutBodyHeaders(headers) } : null;
};

const withoutBodyHeaders = (headers: Hop['headers']): Hop['headers'] =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !/^content-/i.test(name)));

const isSame = (a: Hop, b: Hop): boolean =>
  (a.method ?? 'GET') === (b.method ?? 'GET') && a.url.href.replace(/#.*$/s, '') === b.url.href.replace(/#.*$/s, '');
