type OriginHeaders = {
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

/** Whether an address to listen on can be reached from this machine alone. */
export const isLoopback = (address: string): boolean =>
  address === 'localhost' || address === '::1' || /^127(\.\d{1,3}){3}$/.test(address);

// In a URL and in a `Host` an IPv6 address stands in brackets.
const isLoopbackName = (name: string): boolean => name === '[::1]' || isLoopback(name.toLowerCase());

/** Whether a `Host` names this machine: localhost, 127.x.x.x or [::1], with or without a port. */
const isLoopbackHost = (host: string): boolean => isLoopbackName(host.replace(/:\d{1,5}$/, ''));

/** Whether an `Origin` is a page of this machine, whatever its scheme and port. */
const isLoopbackOrigin = (origin: string): boolean => {
  const url = URL.parse(origin);
  return url !== null && isLoopbackName(url.hostname);
};
