import { type RedisServer, startRedisServer } from '@recourse/test-support/redis-server.ts';

/** Starts Redis servers and remembers them, so that all can be stopped. */
export type RedisServers = {
  /** A server without persistence, on the core of the bench, which is the load's. */
  readonly start: () => Promise<RedisServer>;
  readonly stopAll: () => Promise<void>;
};

export const createRedisServers = (): RedisServers => {
  const running = new Set<RedisServer>();
  return {
    start: async () => {
      const server = await startRedisServer();
      running.add(server);
      return server;
    },
    stopAll: async () => {
      await Promise.all([...running].map((server) => server.stop()));
      running.clear();
    },
  };
};
