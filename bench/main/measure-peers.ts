import { checkForm } from '../check-forms.ts';
import { type Figures, toRatioRow } from '../figures.ts';
import type { Form } from '../forms.ts';
import { type Lane, measureLanes } from '../measure-lanes.ts';
import type { Part } from '../part.ts';
import { endServers, type Server, startService } from '../servers.ts';
import { startListening } from '../start-listening.ts';

/** The same `echo` over HTTP: by the service, through both of its doors, and by servers made with the MCP SDK alone. */
export const measurePeers = async (part: Part): Promise<Figures> => {
  const { surroundings } = part;
  const v1 = await startListening(surroundings, { script: 'mcp/sdk-v1-server.ts', place: 'server', path: '/mcp' });
  const v2 = await startListening(surroundings, { script: 'mcp/sdk-server.ts', place: 'server', path: '/mcp' });
  const service = await startService(surroundings);
  const toLane = async (title: string, server: Server, form: Form): Promise<Lane> => {
    await checkForm(server.url, form, 1, null);
    return { title, server, load: { form, calls: 1 } };
  };
  const lanes = await measureLanes(part, [
    await toLane('service, POST /tool-calls', service, 'native'),
    await toLane('service, /mcp', service, 'mcp_modern'),
    await toLane('MCP TypeScript SDK v1, a server', v1, 'mcp_session'),
    await toLane('MCP TypeScript SDK v2, a server', v2, 'mcp_modern'),
  ]);
  await endServers([v1, v2, service]);
  const [native, door, first, second] = lanes;
  if (native === undefined || door === undefined || first === undefined || second === undefined)
    throw new Error('A lane was not measured.');
  const pairs = [
    [first, native],
    [second, native],
    [first, door],
    [second, door],
  ] as const;
  const rows = pairs.map(([lane, comparedTo]) =>
    toRatioRow({ what: `${lane.title}, 1 call`, lane, comparedTo, as: 'times' }),
  );
  return { rows, lanes };
};
