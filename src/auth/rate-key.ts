import { hash } from 'node:crypto';
import ipaddr from 'ipaddr.js';
import type { Rate } from './rate.ts';

// What one customer of a provider is given at least (RFC 6177): each of its 2^64 addresses would be a caller of its own.
const NETWORK_BYTES = 8;

/** An IPv4 address, also one written as IPv6; of IPv6 the /64 network. What is no address stands for itself. */
const toNetwork = (address: string): string => {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed.kind() === 'ipv4' ? parsed.toString() : parsed.toByteArray().slice(0, NETWORK_BYTES).join('.');
};

/**
 * Under which the requests of a caller are counted: opaque, 43 characters, the same in every replica. Another rate is
 * another count, or a window that was opened as an hour would hold back who has a rate per second by now.
 */
export const toRateKey = ({ requests, windowMs }: Rate, rateKey: string | null, address: string): string => {
  const who = rateKey === null ? `address ${toNetwork(address)}` : `key ${rateKey}`;
  return hash('sha256', `${requests}/${windowMs} ${who}`, 'base64url');
};
