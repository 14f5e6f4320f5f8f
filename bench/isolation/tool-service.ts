import { fileURLToPath } from 'node:url';
import { type Server, type Surroundings, startService } from '../servers.ts';
import { type HostMover, keepHostsOn } from './move-hosts.ts';

const TOOLS = fileURLToPath(new URL('../tools', import.meta.url));

const NOTHING_MOVED: HostMover = { stop: () => undefined };

/** Starts the service with the tools of the bench, whose hosts run on the service's core. */
export const startToolService = (
  surroundings: Surroundings,
  settings: Readonly<Record<string, string>>,
): Promise<Server> => startService(surroundings, { settings: { ...settings, TOOLS_DIR: TOOLS } });

/** Moves the tool hosts to the core of the load, as far as anything can be pinned here. */
export const moveHosts = async ({ cores }: Surroundings, { process }: Server): Promise<HostMover> =>
  cores.pinned ? keepHostsOn(cores.load, process.pid) : NOTHING_MOVED;
