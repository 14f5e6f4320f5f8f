import { isAnyAddress, isPublicAddress } from '@recourse/toolkit-kit/egress/address-policy';
import type { HttpClient } from '@recourse/toolkit-kit/egress/http-client';
import { createDnsLookup, lookupBySystem } from '@recourse/toolkit-kit/egress/lookup';
import { createClientOpener } from '@recourse/toolkit-kit/egress/open-client';
import { systemRetryClock } from '@recourse/toolkit-kit/egress/transport-retries';
import type { EndpointSettings } from './endpoint-settings.ts';

type Access = EndpointSettings['privateAddresses'];

/**
 * The HTTP clients that all endpoints share, which open with their first message: `refuse` connects to public addresses only,
 * whatever a name resolves to.
 */
export const createEndpointClients = () => {
  const clock = systemRetryClock;
  const clients = {
    refuse: createClientOpener({ mayConnect: isPublicAddress, lookup: createDnsLookup(), ports: 'web', clock }),
    allow: createClientOpener({ mayConnect: isAnyAddress, lookup: lookupBySystem, ports: 'any', clock }),
  } satisfies Record<Access, unknown>;
  return {
    open: (access: Access): Promise<HttpClient> => clients[access].open(),
    close: async (): Promise<void> => {
      await Promise.all([clients.refuse.close(), clients.allow.close()]);
    },
  };
};
