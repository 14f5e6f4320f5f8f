import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startService } from '@recourse/test-support/start-service.ts';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '#src/config/settings/config.ts';

test('fetch_url reaches the addresses that FETCH_ALLOW_ADDRESSES names, and no neighbour of them', async () => {
  const server = createServer((_request, response) => response.end('inside'));
  await new Promise<void>((resolve) => server.listen(0, resolve));
  onTestFinished(() => void server.close());
  const { port }: Pick<AddressInfo, 'port'> = Object.assign({ port: 0 }, server.address());
  const service = await startService({ FETCH_ALLOW_ADDRESSES: '127.0.0.2, 10.1.0.0/16' });
  onTestFinished(() => service.stop());
  const fetchFrom = async (address: string) =>
    (await service.call([{ name: 'fetch_url', arguments: { url: `http://${address}:${port}/` } }]))[0];
  expect(await fetchFrom('127.0.0.2')).toMatchObject({ success: true, value: { content: 'inside' } });
  expect((await fetchFrom('127.0.0.1'))?.message).toContain('its address is not public');
});

test.each(['localhost', '10.0.0.0/33', '10.0.0.0/8/8', '::/129', '10.0.0.0/'])(
  'FETCH_ALLOW_ADDRESSES=%s is refused',
  (text) => {
    expect(loadConfig({ FETCH_ALLOW_ADDRESSES: `127.0.0.1,${text}` })).toMatchObject({
      mistakes: [
        'FETCH_ALLOW_ADDRESSES must be a comma-separated list of IP addresses and prefixes, for example 10.1.0.0/16,2001:db8::1',
      ],
    });
  },
);
