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
