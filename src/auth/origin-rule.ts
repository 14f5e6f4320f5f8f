import { isLoopbackHost, isLoopbackOrigin } from './loopback.ts';

export type OriginHeaders = {
  readonly origin: string | undefined;
  readonly host: string | undefined;
  readonly secFetchSite: string | undefined;
  readonly userAgent: string | undefined;
};

export type OriginRule = (headers: OriginHeaders) => boolean;

/**
 * Whether a request may come from where it says. An `Origin` must be loopback or listed. While anonymous a DNS name that
 * is bound to this machine later (rebinding) must not lead in: on a loopback address nobody may ask for another Host
 * than loopback, whatever else was sent; on another one, which has names of its own, no browser may.
 */
export const createOriginRule = (options: {
  readonly allowedOrigins: readonly string[];
  readonly callers: 'anonymous' | 'known';
  /** Where the service listens: on a loopback address, or where others reach it. */
  readonly boundTo: 'loopback' | 'network';
}): OriginRule => {
  const { callers, boundTo } = options;
  const allowed = new Set(options.allowedOrigins);
  const isLoopbackNamed = rememberLast(isLoopbackHost);
  return (headers) => {
    const { origin, host } = headers;
    if (origin !== undefined && !allowed.has(origin) && !isLoopbackOrigin(origin)) return false;
    if (callers === 'known' || (host !== undefined && isLoopbackNamed(host))) return true;
    // Without a Host (HTTP/1.0) no name was asked for.
    return (boundTo === 'network' || host === undefined) && !isBrowser(headers);
  };
};

// Nearly every request names the same Host.
const rememberLast = (judge: (host: string) => boolean): ((host: string) => boolean) => {
  let last = '';
  let verdict = judge(last);
  return (host) => {
    if (host !== last) {
      verdict = judge(host);
      last = host;
    }
    return verdict;
  };
};

// Fetch Metadata is sent to trustworthy URLs alone: a rebound page of http://evil.example sends none, and no Origin with
// a GET. Every browser's User-Agent begins so.
const isBrowser = ({ secFetchSite, userAgent }: OriginHeaders): boolean =>
  secFetchSite !== undefined || userAgent?.startsWith('Mozilla/') === true;
