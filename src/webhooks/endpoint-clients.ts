import { isAnyAddress, isPublicAddress } from '../egress/address-policy.ts';
import type { HttpClient } from '../egress/http-client.ts';
import { createDnsLookup, lookupBySystem } from '../egress/lookup.ts';
import { createClientOpener } from '../egress/open-client.ts';
import { systemRetryClock } from '../egress/transport-retries.ts';
import type { EndpointSettings } from './endpoint-settings.ts';

type Access = EndpointSettings['privateAddresses'];

/** The HTTP clients that all endpoints share: `refuse` connects to public addresses only, whatever a name resolves to. */
export type EndpointClients = {
  readonly open: (access: Access) => Promise<HttpClient>;
  readonly close: () => Promise<void>;
};

/** Clients that open with their first message. */
export const createEndpointClients = (): EndpointClients => {
  const clock = systemRetryClock;
  const clients = {
    refuse: createClientOpener({ mayConnect: isPublicAddress, lookup: createDnsLookup(), ports: 'web', clock }),
    allow: createClientOpener({ mayConnect: isAnyAddress, lookup: lookupBySystem, ports: 'any', clock }),
  } satisfies Record<Access, unknown>;
  return {
    open: (access) => clients[access].open(),
    close: async () => {
      await Promise.all([clients.refuse.close(), clients.allow.close()]);
    },
  };
};
