import { isAnyAddress } from './address-policy.ts';
import type { HttpClient, HttpClientOptions } from './http-client.ts';
import { lookupBySystem } from './lookup.ts';
import type { RetryClock } from './transport-retries.ts';

type ClientOpener = { readonly open: () => Promise<HttpClient>; readonly close: () => Promise<void> };

/**
 * A client that is made with the first request: undici is 8 MB and 70 ms that a service which never asks need not pay.
 */
export const createClientOpener = (options: HttpClientOptions): ClientOpener => {
  let client: Promise<HttpClient> | undefined;
  const create = async (): Promise<HttpClient> => (await import('./http-client.ts')).createHttpClient(options);
  return {
    open: () => {
      client ??= create();
      return client;
    },
    close: async () => (await client)?.close(),
  };
};

/** For a service whose address the operator chose, private ones included. */
export const allowChosenService = (clock: RetryClock): HttpClientOptions => ({
  mayConnect: isAnyAddress,
  lookup: lookupBySystem,
  ports: 'any',
  clock,
});
