import { checkForm, postMessage } from '../check-forms.ts';
import { toRatioRow, toSection } from '../figures.ts';
import { measureLanes } from '../measure-lanes.ts';
import type { Part } from '../part.ts';
import { endServers, type Server, startService } from '../servers.ts';
import { startListening } from '../start-listening.ts';
import { toInitialize } from './mcp-messages.ts';

const LOAD = { calls: 1, sessions: 256 } as const;

/** One call a request in the revision of 2025-11-25, with a session: through the service's door, and to the SDK's server. */
export const measureMcp = async (part: Part): Promise<readonly string[]> => {
  const { surroundings } = part;
  const sdk = await startListening(surroundings, { script: 'mcp/sdk-server.ts', place: 'server', path: '/mcp' });
  const service = await startService(surroundings);
  const session = await openSession(service);
  for (const { url } of [sdk, service]) await checkForm(url, 'mcp_session', 1, session);
  const lanes = await measureLanes(part, [
    { title: "the SDK's server (v2), session not kept", server: sdk, load: { ...LOAD, form: 'mcp_session' } },
    { title: 'the service, /mcp, session kept', server: service, load: { ...LOAD, form: 'mcp_session' } },
    { title: 'the service, POST /tool-calls, session kept', server: service, load: LOAD },
  ]);
  await endServers([sdk, service]);
  const [reference, ...others] = lanes;
  if (reference === undefined) throw new Error('A lane was not measured.');
  const rows = others.map((lane) => toRatioRow({ what: lane.title, lane, comparedTo: reference, as: 'share' }));
  return toSection('MCP door with sessions', { rows, lanes });
};

/** What a client does before its first call: the id of its session from then on. */
const openSession = async ({ url }: Server): Promise<string> => {
  const { headers } = await postMessage(url, toInitialize());
  const session = headers.get('mcp-session-id');
  if (session === null) throw new Error('The service opened no session.');
  return session;
};
