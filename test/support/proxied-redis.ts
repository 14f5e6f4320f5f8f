import { createRedisClient, type RedisClient } from '@recourse/store-redis/redis-client';
import { afterEach, beforeEach } from 'vitest';
import { type RedisServer, startRedisServer } from './redis-server.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';

export type ProxiedRedis = { readonly server: RedisServer; readonly proxy: TcpProxy; readonly client: RedisClient };

/** For each test a Redis of its own behind a proxy, and a client, not connected yet, that gives up after so many milliseconds. */
export const useProxiedRedis = (answerWithinMs: number): (() => ProxiedRedis) => {
  let opened: ProxiedRedis | undefined;
  beforeEach(async () => {
    const server = await startRedisServer();
    const proxy = await startTcpProxy({ to: server.port });
    const client = createRedisClient(`redis://127.0.0.1:${proxy.port}`, answerWithinMs);
    client.onError(() => undefined);
    opened = { server, proxy, client };
  });
  afterEach(async () => {
    opened?.client.disconnect();
    opened?.proxy.close();
    await opened?.server.stop();
  });
  return () => {
    if (opened === undefined) throw new Error('Redis is there only while tests run.');
    return opened;
  };
};
