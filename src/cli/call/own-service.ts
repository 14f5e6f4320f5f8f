import { pino } from 'pino';
import { loadConfig } from '../../settings/config.ts';
import { wire } from '../../wiring.ts';
import type { ServiceAddress } from '../address/service-address.ts';
import type { Variables } from '../terminal/cli-context.ts';

export type OwnService = { readonly address: ServiceAddress; readonly close: () => Promise<void> };

// Who may call, from where, and what outlives the call: none of it is for a service of one call.
const OF_SERVING =
  /^(PORT|HOST|OPS_PORT|API_KEYS|API_KEYS_FILE|JWT_\w+|RATE_LIMIT|REDIS_URL|CONFIG_FILE|LOG_LEVEL|OTEL_\w+|TOOL_HOSTS_M(IN|AX))$/;

// What nobody asks it for.
const SMALL = { TOOL_HOSTS_MIN: '0', CONSOLE: 'false', DOCS: 'false', MCP_SERVER: 'false' };

/** A service with the tools of a directory on a free port of loopback, for one call. */
export const startOwnService = async (
  directory: string,
  variables: Variables,
): Promise<OwnService | { readonly wrong: string } | { readonly problem: string }> => {
  const kept = Object.fromEntries(Object.entries(variables).filter(([name]) => !OF_SERVING.test(name)));
  const environment = { ...kept, ...SMALL, TOOLS_DIR: directory };
  const loaded = loadConfig(environment);
  if ('mistakes' in loaded) return { wrong: loaded.mistakes.join('\n') };
  const log = pino({ level: 'silent' });
  const service = await wire(loaded.config, log, { environment, configFile: null }).catch(toText);
  if (typeof service === 'string') return toRefusal(service);
  const { app, killHosts, close } = service;
  process.on('exit', killHosts);
  const address = await app.listen({ host: '127.0.0.1', port: 0 });
  return {
    address: { url: new URL(address), key: null },
    close: async () => {
      await app.close();
      await close();
    },
  };
};

const toRefusal = (text: string): { readonly wrong: string } | { readonly problem: string } =>
  text.startsWith('TOOLS_DIR ') ? { wrong: text.replace('TOOLS_DIR ', '') } : { problem: text };

const toText = (error: unknown): string => (error instanceof Error ? error.message : String(error));
