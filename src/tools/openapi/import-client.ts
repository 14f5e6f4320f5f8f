import { isAnyAddress, isPublicAddress } from '../http/address-policy.ts';
import type { HttpClient } from '../http/http-client.ts';
import type { Lookup } from '../http/lookup.ts';
import type { RetryClock } from '../http/transport-retries.ts';

export type ImportClient = { readonly open: () => Promise<HttpClient>; readonly close: () => Promise<void> };

export type ImportClientOptions = {
  readonly privateAddresses: 'allow' | 'refuse';
  readonly lookup: Lookup;
  readonly clock: RetryClock;
};

/** The one client of an import, made with its first use: undici is 8 MB that a service without imports need not load. */
export const createImportClient = ({ privateAddresses, lookup, clock }: ImportClientOptions): ImportClient => {
  let client: Promise<HttpClient> | undefined;
  const isAllowed = privateAddresses === 'allow';
  const create = async (): Promise<HttpClient> =>
    (await import('../http/http-client.ts')).createHttpClient({
      mayConnect: isAllowed ? isAnyAddress : isPublicAddress,
      lookup,
      ports: isAllowed ? 'any' : 'web',
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
