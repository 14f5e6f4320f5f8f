import { expect, test } from 'vitest';
import { createFetchUrl } from '#src/fetch-url.ts';

const { tool } = createFetchUrl({ privateAddresses: 'refuse' });

test.each([
  ['https://example.com/page?q=1#part', 'https://example.com'],
  ['HTTPS://EXAMPLE.com:443/other', 'https://example.com'],
  ['http://example.com:8080/', 'http://example.com:8080'],
  ['https://user:word@example.com/', 'https://example.com'],
  ['no URL', ''],
  ['file:///etc/passwd', ''],
  ['', ''],
  [7, ''],
  [undefined, ''],
  [{ href: 'https://example.com' }, ''],
])('fetch_url talks to the origin of its URL: %j → %s', (url, origin) => {
  expect(tool.breakerKeyOf?.({ url })).toBe(origin);
});
