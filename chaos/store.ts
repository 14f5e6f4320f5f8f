import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

const STORE_ACTIONS = ['kill', 'restart', 'pause', 'resume', 'cut', 'freeze', 'thaw', 'refuse', 'accept'] as const;

/** Redis: killed, started again with its data, stopped, continued. Connections: cut, frozen, thawed, refused, accepted. */
export type StoreAction = (typeof STORE_ACTIONS)[number];

export const isStoreAction = (message: unknown): message is StoreAction =>
  STORE_ACTIONS.some((action) => action === message);

/** A redis-server behind a proxy. */
export type Store = {
  /** The proxy's. */
  readonly port: number;
  /** Resolves when it is done. One at a time. */
  readonly act: (action: StoreAction) => Promise<void>;
  readonly close: () => Promise<void>;
};

/**
 * Starts both in a process of their own: in ours they would wait for the load that is sent and judged there, and a
 * replica gives up a command after 50 ms. They keep the priority that this process has now.
 */
export const startStore = async (): Promise<Store> => {
  const child = fork(join(import.meta.dirname, 'store-process.ts'), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const ended = once(child, 'exit');
  const answer = async (): Promise<unknown> => {
    const died = ended.then((): never => {
      throw new Error('The process of redis-server and proxy has ended.');
    });
    const [message]: unknown[] = await Promise.race([once(child, 'message'), died]);
    return message;
  };
  const port = Number(await answer());
  return {
    port,
    act: async (action) => {
      child.send(action);
      await answer();
    },
    close: async () => {
      if (child.connected) child.disconnect();
      await ended;
    },
  };
};
