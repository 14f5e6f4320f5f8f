import { hash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';
import { type CountingService, startCountingService } from './counting-service.ts';
import { type RedisServer, startRedisServer } from './redis-server.ts';
import { connectToRedis, toRedisKey } from './session-stores-under-test.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';

/** A real redis-server, a proxy before it, and the whole service that reaches it through that. Gone with its test. */
export type OutageService = CountingService & {
  readonly server: RedisServer;
  readonly proxy: TcpProxy;
  /** A connection past the proxy. */
  readonly direct: Redis;
};

export type OutageTerms = {
  /** More words for the command line of redis-server. */
  readonly settings?: readonly string[];
  /** More settings of the service. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Whom the service connects as: `name:password@`. */
  readonly credentials?: string;
  /** What happens to server and proxy before the service starts. */
  readonly before?: (parts: Pick<OutageService, 'server' | 'proxy' | 'direct'>) => Promise<void>;
};

/** Starts all three. The service may not have reached Redis yet. */
export const startOutageService = async ({
  settings = [],
  environment = {},
  credentials = '',
  before = async () => undefined,
}: OutageTerms = {}): Promise<OutageService> => {
  const server = await startRedisServer({ settings });
  onTestFinished(server.stop);
  const proxy = await startTcpProxy({ to: server.port });
  onTestFinished(proxy.close);
  const direct = await connectToRedis(server.url);
  // While the server is killed there is nothing to say.
  direct.on('error', () => undefined);
  onTestFinished(() => direct.disconnect());
  await before({ server, proxy, direct });

  const url = `redis://${credentials}127.0.0.1:${proxy.port}`;
  const counting = await startCountingService({ REDIS_URL: url, ...environment });
  return { ...counting, server, proxy, direct };
};

/** The key of a session of a service without keys. */
export const keyOfSession = (session: string): string => toRedisKey(`anonymous:${hash('sha256', session)}`);
