import { checkForm, postMessage } from '../check-forms.ts';
import type { Part } from '../isolation/part.ts';
import { startLoad } from '../measure-load.ts';
import { type Lane, type LaneRuns, measureRounds } from '../measure-rounds.ts';
import type { Server } from '../servers.ts';
import { checkCodes, readServiceCounts } from '../service-counts.ts';
import { startPatientService } from '../sessions/patient-service.ts';
import { startListening } from '../start-listening.ts';
import { toInitialize } from './mcp-messages.ts';

/** The SDK's own server and the service's door, with requests of the current revision and with those of a session. */
export type McpLane = 'sdk_modern' | 'service_modern' | 'sdk_session' | 'service_session' | 'service_native';

export type McpSeries = LaneRuns<McpLane>;

const ONE_CALL = { kind: 'succeeding', calls: 1 } as const;

/** Measures one call a request through the service's MCP door, and through a server made with the SDK alone. */
export const measureMcp = async (part: Part): Promise<readonly McpSeries[]> => {
  const { surroundings } = part;
  const measure = startLoad(surroundings);
  const sdk = await startListening('mcp/sdk-server.ts', 'server', surroundings, '/mcp');
  const service = await startPatientService(surroundings, null);
  const before = await readServiceCounts(service.url);
  const series = await measureRounds(toLanes(sdk, service, await openSession(service)), part, measure);
  checkCodes('ok', { before, after: await readServiceCounts(service.url) });
  for (const server of [sdk, service]) await server.process.end();
  return series;
};

const toLanes = (sdk: Server, service: Server, session: string): readonly Lane<McpLane>[] => {
  const toLane = (
    name: McpLane,
    server: Server,
    form: 'mcp_modern' | 'mcp_session' | 'native',
    opened: string | null,
  ): Lane<McpLane> => ({
    name,
    server,
    load: { ...ONE_CALL, form },
    check: () => checkForm(server.url, form, 1, opened),
  });
  return [
    toLane('sdk_modern', sdk, 'mcp_modern', null),
    toLane('service_modern', service, 'mcp_modern', null),
    toLane('sdk_session', sdk, 'mcp_session', session),
    toLane('service_session', service, 'mcp_session', session),
    toLane('service_native', service, 'native', null),
  ];
};

/** What a client does before its first call: the id of its session from then on. */
const openSession = async ({ url }: Server): Promise<string> => {
  const { headers } = await postMessage(url, toInitialize());
  const session = headers.get('mcp-session-id');
  if (session === null) throw new Error('The service opened no session.');
  return session;
};
