import { type AskProcess, startAsking } from '../ask-process.ts';
import { HOP_TOOLS, type HopKind } from '../bodies.ts';
import type { Part } from '../isolation/part.ts';
import { Timing, type TimingRequest } from '../isolation/timing-plan.ts';
import { startLoad, withoutWarnings } from '../measure-load.ts';
import { type Lane, type LaneRuns, measureRounds } from '../measure-rounds.ts';
import type { Server, Surroundings } from '../servers.ts';
import { checkCodes, readServiceCounts } from '../service-counts.ts';
import { startPatientService } from '../sessions/patient-service.ts';
import { startListening } from '../start-listening.ts';
import { checkEcho, waitForTools } from './check-echo.ts';
import { writeConfig } from './write-config.ts';

/** `echo` inside the service, and behind it. */
export const UPSTREAM_KINDS = ['succeeding', 'over_stdio', 'over_http', 'over_openapi'] as const;
export type UpstreamKind = 'succeeding' | HopKind;

export type UpstreamSeries = LaneRuns<UpstreamKind> & {
  /** One call at a time, in the order of the rounds. */
  readonly timings: readonly Timing[];
};

// With one connection a run has thousands of samples sooner than with fifty.
const SHARE_OF_TIMING = 1 / 3;

/** Measures what it costs that a tool is somewhere else: one service, four tools that do the same. Throws where a call fails. */
export const measureUpstream = async (part: Part): Promise<readonly UpstreamSeries[]> => {
  const { surroundings } = part;
  const ask = startAsking('isolation/send-timed.ts', surroundings);
  const measure = startLoad(surroundings);
  const { service, upstreams } = await startAll(surroundings);
  await waitForTools(service.url, Object.values(HOP_TOOLS));
  const before = await readAllCounts(service);
  const timings = await measureTimings(part, service, ask);
  const series = await measureRounds(toLanes(service), part, measure);
  const after = await readAllCounts(service);
  for (const [place, earlier] of before.entries()) {
    const later = after[place];
    if (later !== undefined) checkCodes('ok', { before: earlier, after: later });
  }
  for (const server of [service, ...upstreams]) await server.process.end();
  return series.map((one) => ({ ...one, timings: timings.get(one.name) ?? [] }));
};

const startAll = async (surroundings: Surroundings) => {
  const mcp = await startListening('mcp/sdk-server.ts', 'load', surroundings, '/mcp');
  const api = await startListening('upstream/echo-api.ts', 'load', surroundings, '');
  const config = writeConfig(surroundings, { mcp: mcp.url, api: api.url });
  const service = await startPatientService(surroundings, null, { CONFIG_FILE: config });
  return { service, upstreams: [mcp, api] };
};

const toolOf = (kind: UpstreamKind): string => (kind === 'succeeding' ? 'echo' : HOP_TOOLS[kind]);

const readAllCounts = async ({ url }: Server) =>
  Promise.all(UPSTREAM_KINDS.map((kind) => readServiceCounts(url, toolOf(kind))));

const toLanes = (server: Server): readonly Lane<UpstreamKind>[] =>
  UPSTREAM_KINDS.map((kind) => ({
    name: kind,
    server,
    load: { kind, calls: 1 },
    check: () => checkEcho(server.url, kind),
  }));

const measureTimings = async (
  { options, progress }: Part,
  { url, process }: Server,
  ask: AskProcess,
): Promise<ReadonlyMap<UpstreamKind, readonly Timing[]>> => {
  const seconds = options.seconds * SHARE_OF_TIMING;
  const timings = new Map(UPSTREAM_KINDS.map((kind) => [kind, [] as Timing[]]));
  const timeOne = async (kind: UpstreamKind): Promise<Timing> => {
    const plan: TimingRequest = { url, kind, calls: 1, seconds };
    return withoutWarnings(Timing.parse(await ask({ url, process }, plan, seconds)));
  };
  for (const kind of UPSTREAM_KINDS) {
    await checkEcho(url, kind);
    progress(`${kind}, one at a time: warming up`);
    await timeOne(kind);
  }
  for (let round = 1; round <= options.rounds; round += 1) {
    for (const kind of UPSTREAM_KINDS) {
      const timing = await timeOne(kind);
      timings.get(kind)?.push(timing);
      progress(`${kind}, one at a time, round ${round} of ${options.rounds}: ${timing.p50.toFixed(3)} ms`);
    }
  }
  return timings;
};
