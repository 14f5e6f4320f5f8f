import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { loadConfig } from '#src/config.ts';
import type { ToolInvoked } from '#src/executor/call-observer.ts';
import { wire } from '#src/wiring.ts';
import { type Actor, createKeyedClient, type KeyedClient } from './keyed-client.ts';

export type SubscribedLab = KeyedClient & {
  /** Everything that was logged, as text. */
  readonly log: () => string;
};

/** The whole service on a real socket, each of whose calls these subscribers hear of. Gone with its test. */
export const startSubscribedLab = async (
  actors: readonly Pick<Actor, 'tool'>[],
  subscribers: readonly ((event: ToolInvoked) => void)[],
  environment: Readonly<Record<string, string>> = {},
): Promise<SubscribedLab> => {
  const loaded = loadConfig({ PORT: '0', ...environment });
  if ('mistakes' in loaded) throw new Error(loaded.mistakes.join('\n'));
  const lines: string[] = [];
  const log = pino({ base: null }, { write: (line: string) => void lines.push(line) });
  const service = await wire(loaded.config, log, { extraTools: actors.map(({ tool }) => tool), subscribers });
  await service.app.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(async () => {
    service.executor.endAll();
    service.app.server.closeAllConnections();
    await service.app.close();
    await service.close();
  });
  const address = service.app.server.address();
  if (address === null || typeof address === 'string') throw new Error('The service has no port.');
  return { ...createKeyedClient(`http://127.0.0.1:${address.port}`), log: () => lines.join('') };
};
