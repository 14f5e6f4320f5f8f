import { Resolver, lookup as systemLookup } from 'node:dns/promises';

/** Finds all addresses of a host name. Rejects with an error that carries a `code` (ENOTFOUND, ETIMEOUT, …). */
export type Lookup = (hostname: string) => Promise<readonly string[]>;

// RFC 6761: these names mean this machine and are not to be asked for.
const isLocalhost = (hostname: string): boolean => /(^|\.)localhost\.?$/i.test(hostname);

/**
 * Asks the configured name servers, without a thread: getaddrinfo blocks one of libuv's few threads for as long as a
 * slow name server likes, and file work of the whole process with it. Knows no hosts file and no search domains, which
 * public names do not need. Ends within about twice `timeoutMs` per name server.
 */
export const createDnsLookup =
  ({
    timeoutMs = 1_500,
    servers,
  }: {
    readonly timeoutMs?: number;
    readonly servers?: readonly string[];
  } = {}): Lookup =>
  async (hostname) => {
    if (isLocalhost(hostname)) return ['127.0.0.1', '::1'];
    const resolver = new Resolver({ timeout: timeoutMs, tries: 2 });
    if (servers !== undefined) resolver.setServers(servers);
    const [v4, v6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const found = [v4, v6].flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    // Of two refusals the IPv4 one speaks: a host without AAAA records answers ENODATA there.
    if (found.length === 0 && v4.status === 'rejected') throw v4.reason;
    return found;
  };

/** Asks the operating system, hosts file and search domains included: closed networks name their machines there. */
export const lookupBySystem: Lookup = async (hostname) =>
  (await systemLookup(hostname, { all: true })).map(({ address }) => address);
