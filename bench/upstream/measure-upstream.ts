import { HOP_TOOLS } from '../bodies.ts';
import { type FigureRow, type Figures, toFigureRow, toSection } from '../figures.ts';
import { type LaneFigures, measureLanes } from '../measure-lanes.ts';
import { measureStarts } from '../measure-starts.ts';
import type { Part } from '../part.ts';
import { endServers, type Surroundings, startService } from '../servers.ts';
import { startListening } from '../start-listening.ts';
import { checkEcho, waitForTools } from './check-echo.ts';
import { writeConfig } from './write-config.ts';

const KINDS = ['succeeding', 'over_stdio', 'over_http', 'over_openapi'] as const;
const TITLES = {
  succeeding: 'inside the service',
  over_stdio: 'MCP server, stdio',
  over_http: 'MCP server, Streamable HTTP',
  over_openapi: 'OpenAPI import',
} as const;

/** What it costs that a tool is somewhere else: one service, four tools that do the same; at full load, and one by one. */
export const measureUpstream = async (part: Part): Promise<readonly string[]> =>
  toSection('Upstreams', await measureStarts(part, measureHops));

const measureHops = async (part: Part): Promise<Figures> => {
  const { service, upstreams } = await startAll(part.surroundings);
  await waitForTools(service.url, Object.values(HOP_TOOLS));
  for (const kind of KINDS) await checkEcho(service.url, kind);
  const [rows, lanes]: [FigureRow[], LaneFigures[]] = [[], []];
  for (const connections of [32, 1] as const) {
    const figures = await measureLanes(
      part,
      KINDS.map((kind) => ({
        title: TITLES[kind],
        server: service,
        load: { kind, calls: 1, connections, timed: connections === 1 },
      })),
    );
    const [inside, ...others] = figures;
    if (inside === undefined) throw new Error('A lane was not measured.');
    for (const lane of others) rows.push(toRow(lane, inside, connections));
    lanes.push(...figures);
  }
  await endServers([service, ...upstreams]);
  return { rows, lanes };
};

const toRow = (lane: LaneFigures, inside: LaneFigures, connections: number): FigureRow =>
  connections === 1
    ? toFigureRow({ what: `${lane.title}, one call at a time, p50`, lane, comparedTo: inside, as: 'added' })
    : toFigureRow({ what: `${lane.title}, full load`, lane, comparedTo: inside, as: 'times' });

const startAll = async (surroundings: Surroundings) => {
  const mcp = await startListening(surroundings, { script: 'mcp/sdk-server.ts', place: 'load', path: '/mcp' });
  const api = await startListening(surroundings, { script: 'upstream/echo-api.ts', place: 'load', path: '' });
  const config = writeConfig(surroundings, { mcp: mcp.url, api: api.url });
  const service = await startService(surroundings, { settings: { CONFIG_FILE: config } });
  return { service, upstreams: [mcp, api] };
};
