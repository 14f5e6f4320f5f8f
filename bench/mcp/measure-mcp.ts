import { checkForm, postMessage } from '../check-forms.ts';
import { toRatioRow, toSection } from '../figures.ts';
import { measureLanes } from '../measure-lanes.ts';
import type { Part } from '../part.ts';
import { endServers, type Server, startService } from '../servers.ts';
import { startListening } from '../start-listening.ts';
import { MIN_SHARE_OF_MCP_SDK } from '../targets.ts';
import { toInitialize } from './mcp-messages.ts';

const LOAD = { calls: 1, sessions: 256 } as const;

/**
 * One call a request, in the revision of 2025-11-25 with a session and in that of 2026-07-28 without: through the service's
 * door, and to the SDK's server.
 */
export const measureMcp = async (part: Part): Promise<readonly string[]> => {
  const { surroundings } = part;
  const sdk = await startListening(surroundings, { script: 'mcp/sdk-server.ts', place: 'server', path: '/mcp' });
  const service = await startService(surroundings);
  const session = await openSession(service);
  for (const { url } of [sdk, service]) {
    await checkForm(url, 'mcp_session', 1, session);
    await checkForm(url, 'mcp_modern', 1, null);
  }
  const lanes = await measureLanes(part, [
    { title: "the SDK's server (v2), session not kept", server: sdk, load: { ...LOAD, form: 'mcp_session' } },
    { title: 'the service, /mcp, session kept', server: service, load: { ...LOAD, form: 'mcp_session' } },
    { title: 'the service, POST /tool-calls, session kept', server: service, load: LOAD },
    { title: "the SDK's server (v2), 2026-07-28", server: sdk, load: { calls: 1, form: 'mcp_modern' } },
    { title: 'the service, /mcp, 2026-07-28', server: service, load: { calls: 1, form: 'mcp_modern' } },
  ]);
  await endServers([sdk, service]);
  const [sdkSession, door, native, sdkModern, doorModern] = lanes;
  if (sdkSession === undefined || door === undefined || native === undefined) throw new Error(UNMEASURED);
  if (sdkModern === undefined || doorModern === undefined) throw new Error(UNMEASURED);
  const target = MIN_SHARE_OF_MCP_SDK;
  const rows = [
    toRatioRow({ what: door.title, lane: door, comparedTo: sdkSession, as: 'share', target }),
    toRatioRow({ what: native.title, lane: native, comparedTo: sdkSession, as: 'share' }),
    toRatioRow({ what: doorModern.title, lane: doorModern, comparedTo: sdkModern, as: 'share', target }),
  ];
  return toSection('MCP door', { rows, lanes });
};

const UNMEASURED = 'A lane was not measured.';

/** What a client does before its first call: the id of its session from then on. */
const openSession = async ({ url }: Server): Promise<string> => {
  const { headers } = await postMessage(url, toInitialize());
  const session = headers.get('mcp-session-id');
  if (session === null) throw new Error('The service opened no session.');
  return session;
};
