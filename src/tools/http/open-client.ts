import { isAnyAddress } from './address-policy.ts';
import type { HttpClient } from './http-client.ts';
import { lookupBySystem } from './lookup.ts';
import type { RetryClock } from './transport-retries.ts';

/**
 * A client for a service whose address the operator chose, private ones included. It is made with the first request:
 * undici is 8 MB and 70 ms that a service which never asks need not pay.
 */
export const createClientOpener = (
  clock: RetryClock,
): { readonly open: () => Promise<HttpClient>; readonly close: () => Promise<void> } => {
  let client: Promise<HttpClient> | undefined;
  const create = async (): Promise<HttpClient> =>
    (await import('./http-client.ts')).createHttpClient({
      mayConnect: isAnyAddress,
      lookup: lookupBySystem,
      ports: 'any',
      clock,
    });
  return {
    open: () => {
      client ??= create();
      return client;
    },
    close: async () => (await client)?.close(),
  };
};
