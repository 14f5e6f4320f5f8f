import type { Effects } from '../../contract/failure.ts';
import { type Hop, MAX_REDIRECTS, type NextHop } from './redirects.ts';

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
export const toPinnedRedirects =
  (base: URL, effects: Effects): NextHop =>
  (trail, status, location) => {
    const from = trail.at(-1) ?? trail[0];
    const url = URL.parse(location, from.url);
    if (url === null || url.username !== '' || url.password !== '' || !isBelow(url, base)) return null;
    const next = toRepeated(from, status, url, effects);
    if (next === null || trail.length > MAX_REDIRECTS || trail.some((hop) => isSame(hop, next))) return null;
    return next;
  };

const toRepeated = (from: Hop, status: number, url: URL, effects: Effects): Hop | null => {
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
