import { defineExtension, flag, list } from 'recourse-server/extension';
import * as z from 'zod';

const AddressOrPrefix = z.union(
  [z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()],
  'must be a comma-separated list of IP addresses and prefixes, for example 10.1.0.0/16,2001:db8::1',
);

/** `fetch_url`: pages of the public internet. */
export const extension = defineExtension({
  name: 'web',
  settings: {
    FETCH_ALLOW_ADDRESSES: list
      .pipe(z.array(AddressOrPrefix))
      .describe('Comma-separated non-public addresses and prefixes (`10.1.0.0/16`) that `fetch_url` may reach.'),
    FETCH_ALLOW_PRIVATE: flag(false).describe(
      'Let `fetch_url` reach all addresses. Only for tests and closed networks.',
    ),
  },
  open: async (settings, { userAgent }) => {
    const { createFetchUrl } = await import('./fetch-url.ts');
    const { tool, close } = createFetchUrl({
      privateAddresses: settings.FETCH_ALLOW_PRIVATE ? 'allow' : 'refuse',
      allowedAddresses: settings.FETCH_ALLOW_ADDRESSES,
      userAgent,
    });
    return { tools: [tool], close };
  },
});
