/** What `redis+sentinel://` says: who is asked for the master, and how the servers are reached. */
export type SentinelServers = {
  readonly tls: boolean;
  readonly sentinels: readonly { readonly host: string; readonly port: number }[];
  /** What the Sentinels call the master. */
  readonly name: string;
  readonly db: number;
  /** For the master and its replicas; undefined where they ask for none. */
  readonly username: string | undefined;
  readonly password: string | undefined;
};

/** How to write it instead. Repeats nothing of the URL, which may hold a password. */
export type UrlMistake = { readonly mistake: string };

const SENTINEL_PORT = 26_379;
const SCHEME = /^(rediss?)\+sentinel:\/\//;
const HOST = /^(?:\[([\da-f:.]+)\]|([\w.-]+))(?::(\d{1,5}))?$/i;
// The characters that Sentinel takes.
const NAME = /^[\w.-]+$/;

export const isSentinelUrl = (url: string): boolean => SCHEME.test(url.trim());

/** The URL of each server: a cluster has several. Commas of a Sentinel URL separate hosts, and may stand in its password. */
export const splitRedisUrl = (url: string): readonly string[] =>
  isSentinelUrl(url) ? [url.trim()] : url.split(',').map((node) => node.trim());

/** Reads `redis+sentinel://[user:password@]host[:port][,host[:port]]/NAME[/db]`. */
export const parseSentinelUrl = (url: string): SentinelServers | UrlMistake => {
  const written = url.trim();
  const [start = '', scheme] = SCHEME.exec(written) ?? [];
  const rest = written.slice(start.length);
  const at = rest.lastIndexOf('@');
  const credentials = readCredentials(rest.slice(0, Math.max(0, at)));
  if ('mistake' in credentials) return credentials;
  const place = readPlace(rest.slice(at + 1));
  return 'mistake' in place ? place : { tls: scheme === 'rediss', ...credentials, ...place };
};

const readPlace = (text: string): Pick<SentinelServers, 'sentinels' | 'name' | 'db'> | UrlMistake => {
  const [hosts = '', name = '', db = '', ...more] = text.split('/');
  if (hosts === '') return { mistake: 'write the host of at least one Sentinel before the name of the master' };
  const sentinels = hosts.split(',').map((host) => readHost(host.trim()));
  const wrong = sentinels.indexOf(null);
  if (wrong >= 0) return { mistake: `Sentinel ${wrong + 1} is not a host or host:port` };
  if (name === '')
    return { mistake: 'write the name of the master after the hosts, as in redis+sentinel://host/mymaster' };
  if (!NAME.test(name))
    return {
      mistake: 'a name of a master has letters, digits, ".", "-" and "_"; the scheme stands once, before all hosts',
    };
  if (!/^\d{0,5}$/.test(db) || more.length > 0) return { mistake: 'only the number of a database may follow the name' };
  return { sentinels: sentinels.filter((sentinel) => sentinel !== null), name, db: Number(db) };
};

const readHost = (text: string): SentinelServers['sentinels'][number] | null => {
  const [, address, name, digits] = HOST.exec(text) ?? [];
  const host = address ?? name;
  const port = digits === undefined ? SENTINEL_PORT : Number(digits);
  return host === undefined || port < 1 || port > 65_535 ? null : { host, port };
};

const readCredentials = (text: string): Pick<SentinelServers, 'username' | 'password'> | UrlMistake => {
  if (text === '') return { username: undefined, password: undefined };
  const colon = text.indexOf(':');
  if (colon < 0 || colon === text.length - 1) return { mistake: 'write user:password@ or :password@ before the hosts' };
  try {
    const username = decodeURIComponent(text.slice(0, colon));
    return { username: username === '' ? undefined : username, password: decodeURIComponent(text.slice(colon + 1)) };
  } catch (error) {
    if (!(error instanceof URIError)) throw error;
    return { mistake: 'a % in a user or password is written %25' };
  }
};
