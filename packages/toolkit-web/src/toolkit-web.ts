import { defineExtension, flag, list } from 'recourse-server/extension';

/** `fetch_url`: pages of the public internet. */
export const extension = defineExtension({
  name: 'web',
  settings: {
    FETCH_ALLOW_ADDRESSES: list.describe(
      'Comma-separated non-public addresses and prefixes (`10.1.0.0/16`) that `fetch_url` may reach.',
    ),
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
