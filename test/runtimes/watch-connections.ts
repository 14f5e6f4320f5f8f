import { subscribe, unsubscribe } from 'node:diagnostics_channel';

export type ConnectionWatch = {
  /** Every host that something in this process began to connect to, once each. */
  readonly hosts: () => readonly string[];
  readonly stop: () => void;
};

/** Watches where fetch, undici, node:http and node:https connect to. */
export const watchConnections = (): ConnectionWatch => {
  const hosts = new Set<string>();
  const watchers = [...WHERE].map(([channel, path]) => {
    const listen = (message: unknown): void => void hosts.add(readPath(message, path));
    subscribe(channel, listen);
    return () => unsubscribe(channel, listen);
  });
  return {
    hosts: () => [...hosts],
    stop: () => {
      for (const stop of watchers) stop();
    },
  };
};

/** Channel → where its messages hold the host. */
const WHERE: ReadonlyMap<string, readonly string[]> = new Map([
  ['undici:client:beforeConnect', ['connectParams', 'hostname']],
  ['http.client.request.start', ['request', 'host']],
]);

const readPath = (message: unknown, path: readonly string[]): string => {
  let value = message;
  for (const name of path) value = typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
  return String(value);
};
