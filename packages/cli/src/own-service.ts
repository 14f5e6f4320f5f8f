import { pino } from 'pino';
import type { Variables } from 'recourse-server/config/file/expand-variables';
import { readExtensions } from 'recourse-server/config/read-configuration';
import { loadConfig } from 'recourse-server/config/settings/config';
import { wire } from 'recourse-server/wiring/wire';
import type { ServiceAddress } from './ask-service.ts';
import { CommandFailed, readMessage, WrongUse } from './command-output.ts';

export type OwnService = {
  readonly address: ServiceAddress;
  /** Why files and tools of the directory do not serve, each in words for people. */
  readonly problems: readonly string[];
  readonly close: () => Promise<void>;
};

// Who may call, from where, and what outlives the call: none of it is for a service of one call.
const OF_SERVING =
  /^(PORT|HOST|OPS_PORT|API_KEYS|API_KEYS_FILE|JWT_\w+|RATE_LIMIT|STORE|STORE_KEYS|STORE_SEALED|REDIS_URL|REDIS_SENTINEL_PASSWORD|CONFIG_FILE|LOG_LEVEL|OTEL_\w+|TOOL_HOSTS_M(IN|AX))$/;

// What nobody asks it for.
const SMALL = { TOOL_HOSTS_MIN: '0', CONSOLE: 'false', DOCS: 'false', MCP_SERVER: 'false' };

/** A service with the tools of a directory on a free port of loopback, for one call. */
export const startOwnService = async (directory: string, variables: Variables): Promise<OwnService> => {
  const others = Object.fromEntries(Object.entries(variables).filter(([name]) => !OF_SERVING.test(name)));
  const environment = { ...others, ...SMALL, TOOLS_DIR: directory };
  const { extensions, mistakes } = await readExtensions(environment);
  const loaded = loadConfig(environment, extensions);
  const all = [...mistakes, ...('mistakes' in loaded ? loaded.mistakes : [])];
  if (all.length > 0) throw new WrongUse(all.join('\n'));
  const problems: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line) => void problems.push(...readProblems(line)) });
  const { app, killHosts, close } = await wire(loaded.config, log, { environment, configFile: null }).catch(refuse);
  process.on('exit', killHosts);
  const address = await app.listen({ host: '127.0.0.1', port: 0 });
  return {
    address: { url: new URL(address), key: null },
    problems,
    close: async () => {
      await app.close();
      await close();
    },
  };
};

const refuse = (error: unknown): never => {
  const problem = readMessage(error);
  if (problem.startsWith('TOOLS_DIR ')) throw new WrongUse(problem.replace('TOOLS_DIR ', ''));
  throw new CommandFailed(`recourse: ${problem}`);
};

// A tool whose name is taken is a problem, too: else the call would go to the one that has the name, and nobody would know.
const TROUBLES: readonly unknown[] = ['tool file cannot be loaded', 'tool is unavailable'];

const readProblems = (line: string): readonly string[] => {
  const { msg, file = '', reason }: Readonly<Record<string, unknown>> = JSON.parse(line);
  if (!TROUBLES.includes(msg)) return [];
  return [String(reason).startsWith(String(file)) ? String(reason) : `${file}: ${reason}`];
};
