const SENTINEL_PORT = 26_379;
const SCHEME = /^rediss?\+sentinel:\/\//;
// A password may have @ and / as they are; the name has the characters that Sentinel takes.
const SENTINEL_URL =
  /^(rediss?)\+sentinel:\/\/(?:(?<username>[^:@]*):(?<password>.+)@)?([^/@]+)\/([\w.-]+)(?:\/(\d{0,5}))?$/;
const HOST = /^(?:\[([\da-f:.]+)\]|([\w.-]+))(?::(\d{1,5}))?$/i;

/** How to write a Sentinel URL that cannot be read. Repeats nothing of it, for it may hold a password. */
export const SENTINEL_URL_RULE =
  'write redis+sentinel://[user:password@]host[:port][,host[:port]]/NAME[/db], a % in user or password as %25';

export const isSentinelUrl = (url: string): boolean => SCHEME.test(url.trim());

/** The URL of each server: a cluster has several. Commas of a Sentinel URL separate hosts, and may stand in its password. */
export const splitRedisUrl = (url: string): readonly string[] =>
  isSentinelUrl(url) ? [url.trim()] : url.split(',').map((node) => node.trim());

/** What a Sentinel URL says; null where it cannot be read. User and password are for the master and its replicas, not for the Sentinels. */
export const parseSentinelUrl = (url: string) => {
  const match = SENTINEL_URL.exec(url.trim());
  if (match === null) return null;
  const [, scheme, , , hosts = '', name = '', db] = match;
  const sentinels = hosts.split(',').map((host) => readHost(host.trim()));
  const username = decodePart(match.groups?.['username']);
  const password = decodePart(match.groups?.['password']);
  if (sentinels.includes(null) || username === null || password === null) return null;
  return {
    ...{ tls: scheme === 'rediss', name, db: Number(db ?? 0), username: username || undefined, password },
    sentinels: sentinels.filter((sentinel) => sentinel !== null),
  };
};

const readHost = (text: string): { readonly host: string; readonly port: number } | null => {
  const [, address, name, digits] = HOST.exec(text) ?? [];
  const host = address ?? name;
  const port = Number(digits ?? SENTINEL_PORT);
  return host === undefined || port < 1 || port > 65_535 ? null : { host, port };
};

/** A user or password without its percent signs; null where one encodes nothing. */
const decodePart = (text: string | undefined): string | undefined | null => {
  try {
    return text === undefined ? undefined : decodeURIComponent(text);
  } catch (error) {
    if (!(error instanceof URIError)) throw error;
    return null;
  }
};
