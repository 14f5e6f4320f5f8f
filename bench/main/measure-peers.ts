import { checkForm } from '../check-forms.ts';
import { type Figures, toFigureRow } from '../figures.ts';
import type { Form } from '../forms.ts';
import { type Lane, measureLanes } from '../measure-lanes.ts';
import type { Part } from '../part.ts';
import { endServers, type Server, startService } from '../servers.ts';
import { startListening } from '../start-listening.ts';

// Each in the newest revision that it speaks without a session.
const PEERS = [
  { title: 'FastMCP, a server', script: 'mcp/fastmcp-server.ts', form: 'mcp_session' },
  { title: 'MCP TypeScript SDK v1, a server', script: 'mcp/sdk-v1-server.ts', form: 'mcp_session' },
  { title: 'MCP TypeScript SDK v2, a server', script: 'mcp/sdk-server.ts', form: 'mcp_modern' },
] as const;

const DOORS = [
  { title: 'service, POST /tool-calls', form: 'native' },
  { title: 'service, /mcp', form: 'mcp_modern' },
] as const;

/** The same `echo` over HTTP: by the service, through both of its doors, and by servers made with nothing but a library. */
export const measurePeers = async (part: Part): Promise<Figures> => {
  const { surroundings } = part;
  const servers: Server[] = [];
  const lanes: Lane[] = [];
  const addLane = async (title: string, server: Server, form: Form): Promise<void> => {
    await checkForm(server.url, form, 1, null);
    lanes.push({ title, server, load: { form, calls: 1, awake: true } });
  };
  const service = await startService(surroundings);
  for (const { title, form } of DOORS) await addLane(title, service, form);
  for (const { title, script, form } of PEERS) {
    const server = await startListening(surroundings, { script, place: 'server', path: '/mcp' });
    servers.push(server);
    await addLane(title, server, form);
  }
  const figures = await measureLanes(part, lanes);
  await endServers([service, ...servers]);
  const [doors, peers] = [figures.slice(0, DOORS.length), figures.slice(DOORS.length)];
  const rows = doors.flatMap((comparedTo) =>
    peers.map((lane) => toFigureRow({ what: `${lane.title}, 1 call`, lane, comparedTo, as: 'times' })),
  );
  return { rows, lanes: figures };
};
