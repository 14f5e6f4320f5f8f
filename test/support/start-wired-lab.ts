import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { loadConfig } from '#src/config/settings/config.ts';
import { type WireOptions, wire } from '#src/wiring/wire.ts';
import { type Actor, createKeyedClient, type KeyedClient, whenConnected } from './keyed-client.ts';

export type WiredLab = KeyedClient & {
  readonly url: string;
  /** Everything that was logged, as text. */
  readonly log: () => string;
};

/** The whole service on a real socket, put together with these options. Gone with its test. */
export const startWiredLab = async (
  actors: readonly Pick<Actor, 'tool'>[],
  options: Pick<WireOptions, 'subscribers' | 'wrapStores'>,
  environment: Readonly<Record<string, string>> = {},
): Promise<WiredLab> => {
  const loaded = loadConfig({ PORT: '0', ...environment });
  if ('mistakes' in loaded) throw new Error(loaded.mistakes.join('\n'));
  const lines: string[] = [];
  const log = pino({ base: null }, { write: (line: string) => void lines.push(line) });
  const service = await wire(loaded.config, log, { ...options, extraTools: actors.map(({ tool }) => tool) });
  await service.app.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(async () => {
    service.executor.endAll();
    service.app.server.closeAllConnections();
    await service.app.close();
    await service.close();
  });
  const address = service.app.server.address();
  if (address === null || typeof address === 'string') throw new Error('The service has no port.');
  const url = `http://127.0.0.1:${address.port}`;
  const client = createKeyedClient(url);
  if (environment['REDIS_URL'] !== undefined) await whenConnected(client);
  return { ...client, url, log: () => lines.join('') };
};
