import { openQueueConnection } from '@recourse/store-redis/redis-client';
import { useRedis } from '@recourse/test-support/session-stores-under-test.ts';
import { startTcpProxy } from '@recourse/test-support/tcp-proxy.ts';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test, vi } from 'vitest';

const redis = useRedis();

/** Listens to nothing but that: `once` of Node listens to errors as well. */
const whenIt = (says: 'ready' | 'close', one: Redis): Promise<void> =>
  new Promise((resolve) => void one.once(says, () => resolve()));

test.each(['producer', 'worker'] as const)(
  'an error of a %s that BullMQ does not listen to any more is not written to stderr, nor one of its duplicate',
  async (use) => {
    const written = vi.spyOn(console, 'error').mockReturnValue();
    const proxy = await startTcpProxy({ to: redis().options.port ?? 0 });
    onTestFinished(proxy.close);
    const connection = openQueueConnection(`redis://127.0.0.1:${proxy.port}`, use);
    if (!(connection instanceof Redis)) throw new Error('It is no connection to one server.');
    onTestFinished(() => connection.disconnect());
    const duplicate = connection.duplicate();
    onTestFinished(() => duplicate.disconnect());
    const both = [connection, duplicate];
    await Promise.all(both.map((one) => one.status === 'ready' || whenIt('ready', one)));
    const closed = both.map((one) => whenIt('close', one));
    proxy.close();
    await Promise.all(closed);
    // The next try finds nothing that listens.
    await Promise.all(both.map((one) => whenIt('close', one)));
    // A connection of another test file in this process may be written of as well.
    const ofThese = written.mock.calls.flat().filter((text) => String(text).includes(`:${proxy.port}`));
    expect(ofThese).toEqual([]);
  },
);
