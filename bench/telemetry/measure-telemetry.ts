import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkAnswer } from '../check-answers.ts';
import { type FigureRow, type Figures, toFigureRow, toSection } from '../figures.ts';
import { type Lane, type LaneFigures, measureLanes } from '../measure-lanes.ts';
import { measureStarts } from '../measure-starts.ts';
import type { Part } from '../part.ts';
import { endServers, type Server, type Surroundings, startService } from '../servers.ts';
import { startListening } from '../start-listening.ts';
import { MIN_LEFT_BY_METRICS_AND_LOG } from '../targets.ts';

const DEFAULT = 'metrics and log (default)';
const BATCHES = [1, 32] as const;
const SESSIONS = 256;

/** What metrics, log and traces cost: the same batches of six services of which less and more is to be seen. */
export const measureTelemetry = async (part: Part): Promise<readonly string[]> =>
  toSection('Telemetry', await measureStarts(part, measureServices));

const measureServices = async (part: Part): Promise<Figures> => {
  const sink = await startListening(part.surroundings, { script: 'telemetry/trace-sink.ts', place: 'load', path: '' });
  const services = await startServices(part.surroundings, sink.url);
  const [rows, lanes]: [FigureRow[], LaneFigures[]] = [[], []];
  for (const calls of BATCHES) {
    const figures = await measureLanes(part, await toLanes(services, calls));
    const [without, ...others] = figures;
    if (without === undefined) throw new Error('A lane was not measured.');
    for (const lane of others) rows.push(toRow(lane, without));
    lanes.push(...figures);
  }
  await endServers([...services.values(), sink]);
  return { rows, lanes };
};

const toRow = (lane: LaneFigures, comparedTo: LaneFigures): FigureRow =>
  toFigureRow({
    what: `${lane.title}, ${lane.calls} a batch`,
    lane,
    comparedTo,
    as: 'share',
    target: lane.title === DEFAULT ? MIN_LEFT_BY_METRICS_AND_LOG : undefined,
  });

const toLanes = async (services: ReadonlyMap<string, Server>, calls: number): Promise<readonly Lane[]> => {
  const lanes: Lane[] = [];
  for (const [title, server] of services) {
    await checkAnswer(server.url, 'succeeding', calls);
    lanes.push({ title, server, load: { calls, sessions: SESSIONS } });
  }
  return lanes;
};

// Spans are sent to a process on the core of the load, which throws them away.
const startServices = async (surroundings: Surroundings, sink: string): Promise<ReadonlyMap<string, Server>> => {
  const silent = { LOG_LEVEL: 'silent' };
  const audit = join(surroundings.directory, 'audit.jsonl');
  const script = fileURLToPath(new URL('unobserved-service.ts', import.meta.url));
  const toTraced = (share: string) => ({
    OTEL_EXPORTER_OTLP_ENDPOINT: sink,
    OTEL_TRACES_SAMPLER: 'traceidratio',
    OTEL_TRACES_SAMPLER_ARG: share,
  });
  return new Map([
    ['nothing counted or logged', await startService(surroundings, { settings: silent, script })],
    ['metrics', await startService(surroundings, { settings: silent })],
    [DEFAULT, await startService(surroundings)],
    ['the same, and an audit file', await startService(surroundings, { settings: { AUDIT: `file:${audit}` } })],
    ['the same, and a tenth traced', await startService(surroundings, { settings: toTraced('0.1') })],
    ['the same, and all traced', await startService(surroundings, { settings: toTraced('1') })],
  ]);
};
