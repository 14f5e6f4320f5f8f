/** Whether an address to listen on can be reached from this machine alone. */
export const isLoopback = (address: string): boolean =>
  address === 'localhost' || address === '::1' || /^127(\.\d{1,3}){3}$/.test(address);

// In a URL and in a `Host` an IPv6 address stands in brackets.
const isLoopbackName = (name: string): boolean => name === '[::1]' || isLoopback(name.toLowerCase());

/** Whether a `Host` names this machine: localhost, 127.x.x.x or [::1], with or without a port. */
export const isLoopbackHost = (host: string): boolean => isLoopbackName(host.replace(/:\d{1,5}$/, ''));

/** Whether an `Origin` is a page of this machine, whatever its scheme and port. */
export const isLoopbackOrigin = (origin: string): boolean => {
  const url = URL.parse(origin);
  return url !== null && isLoopbackName(url.hostname);
};
