import { startRedisServer } from '@recourse/test-support/redis-server.ts';
import { startTcpProxy } from '@recourse/test-support/tcp-proxy.ts';
import { isStoreAction, type StoreAction } from './store.ts';

// What docker-compose.yml says. A killed Redis comes back with all it has ever confirmed, or keyed batches would run again.
const PERSISTENT = ['--appendonly', 'yes', '--appendfsync', 'always', '--maxmemory-policy', 'noeviction'];

const redis = await startRedisServer({ settings: PERSISTENT });
const proxy = await startTcpProxy({ to: redis.port });

const ACTIONS: Readonly<Record<StoreAction, () => void | Promise<void>>> = {
  kill: redis.kill,
  restart: redis.restart,
  pause: redis.pause,
  resume: redis.resume,
  cut: proxy.cut,
  freeze: proxy.freeze,
  thaw: proxy.thaw,
  refuse: () => {
    proxy.refuse();
    proxy.cut();
  },
  accept: proxy.accept,
};

// Ctrl-C goes to the whole group: whoever started us says when the end has come, or is gone.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
process.on('disconnect', () => {
  proxy.close();
  void redis.stop().finally(() => process.exit(0));
});
process.on('message', (message) => {
  if (!isStoreAction(message)) throw new Error(`There is no action ${String(message)}.`);
  void Promise.resolve(ACTIONS[message]()).then(() => process.send?.('done'));
});
process.send?.(proxy.port);
