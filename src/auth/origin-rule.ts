export type OriginRule = (headers: {
  readonly origin: string | undefined;
  readonly host: string | undefined;
  readonly secFetchSite: string | undefined;
}) => boolean;

const LOOPBACK_HOST = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/i;

const isLoopbackOrigin = (origin: string): boolean => {
  const url = URL.parse(origin);
  return url !== null && LOOPBACK_HOST.test(url.hostname);
};

const isLoopbackHost = (host: string | undefined): boolean =>
  host !== undefined && LOOPBACK_HOST.test(host.replace(/:\d{1,5}$/, ''));

/**
 * Whether a request may come from where it says. An `Origin` must be loopback or listed; while anonymous, a browser
 * (any `Sec-Fetch-Site`) must also have asked for a loopback Host, or a rebound DNS name would reach the workspace.
 */
export const createOriginRule = (options: {
  readonly allowedOrigins: readonly string[];
  readonly callers: 'anonymous' | 'known';
}): OriginRule => {
  const allowed = new Set(options.allowedOrigins);
  return ({ origin, host, secFetchSite }) => {
    if (origin !== undefined && !allowed.has(origin) && !isLoopbackOrigin(origin)) return false;
    return options.callers === 'known' || secFetchSite === undefined || isLoopbackHost(host);
  };
};
