import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';

/** Whether a connection to this IP address (as text, without brackets) may be opened. */
export type AddressPolicy = (address: string) => boolean;

// Public by the registries, yet answered by the machine's own cloud host: Azure's WireServer (metadata, DNS, agents).
const HOST_INTERNAL_ADDRESSES: ReadonlySet<string> = new Set(['168.63.129.16']);

// All of IPv6 that IANA has handed out as global unicast. ipaddr.js also calls the rest of it `unicast`, and with it
// `::7f00:1`, which is how a URL spells the IPv4-compatible form of 127.0.0.1.
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');

/**
 * Whether an address belongs to the public internet: global unicast and nothing else. IPv4 inside IPv6 is judged as
 * IPv4 where it is mapped, and refused where a gateway would unwrap it (NAT64, 6to4, Teredo): what we checked would
 * not be what is reached. Source: IANA's special-purpose address registries, as ipaddr.js holds them.
 */
export const isPublicAddress: AddressPolicy = (text) => {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.process(text);
  if (address.range() !== 'unicast' || HOST_INTERNAL_ADDRESSES.has(address.toString())) return false;
  return address instanceof ipaddr.IPv4 || address.match(GLOBAL_UNICAST);
};

/** Every address: for tests and closed networks (FETCH_ALLOW_PRIVATE). */
export const isAnyAddress: AddressPolicy = () => true;

type Prefix = readonly [ipaddr.IPv4 | ipaddr.IPv6, number];

/**
 * Public addresses, but for those of this machine and of the networks that it is attached to: a global address may be its
 * own, and reach what listens for neighbours only. Interfaces are read at each judgement, for they change.
 */
export const createFetchPolicy = ({
  allowed,
  interfaces = networkInterfaces,
}: {
  /** Addresses, and prefixes such as `10.1.0.0/16`, that may be reached although they are not public, or are this machine's. */
  readonly allowed: readonly string[];
  /** The interfaces of this machine as they are now. */
  readonly interfaces?: () => ReturnType<typeof networkInterfaces>;
}): AddressPolicy => {
  const prefixes = allowed.map(parsePrefix);
  return (text) => {
    if (!ipaddr.isValid(text)) return false;
    if (isInOneOf(text, prefixes)) return true;
    if (!isPublicAddress(text)) return false;
    const attached = Object.values(interfaces()).flatMap((addresses = []) => addresses.flatMap(readAttachedNetwork));
    return !isInOneOf(text, attached);
  };
};

const parsePrefix = (text: string): Prefix => {
  if (text.includes('/')) return ipaddr.parseCIDR(text);
  const address = ipaddr.parse(text);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
};

// A prefix of no bits is a default route (a tunnel), not a network of neighbours.
const readAttachedNetwork = ({ address, cidr }: NetworkInterfaceInfo): readonly Prefix[] => {
  const own = address.replace(/%.*$/, '');
  if (!ipaddr.isValid(own)) return [];
  return cidr === null || cidr.endsWith('/0') ? [parsePrefix(own)] : [parsePrefix(cidr)];
};

const isInOneOf = (text: string, prefixes: readonly Prefix[]): boolean => {
  const address = ipaddr.process(text);
  return prefixes.some(([network, bits]) => address.kind() === network.kind() && address.match(network, bits));
};
