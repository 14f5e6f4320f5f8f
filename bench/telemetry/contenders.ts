import { fileURLToPath } from 'node:url';
import { onCore } from '../cores.ts';
import { findFreePort, type Server, type Surroundings, startService } from '../servers.ts';

/** What is measured against each other: one service, of which less and more is to be seen. */
export const CONTENDERS = ['nothing', 'metrics', 'metrics_and_log', 'traces_of_a_tenth', 'traces_of_all'] as const;
export type ContenderName = (typeof CONTENDERS)[number];

export type Contender = { readonly name: ContenderName; readonly server: Server };

// Where other work has the core, 503s would say nothing about telemetry.
const PATIENT = { MAX_EVENT_LOOP_LAG_MS: '60000' };
const fileOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/** The five services, on the embedded store; those with traces send them to a sink on the core of the load. */
export const startContenders = async (surroundings: Surroundings): Promise<readonly Contender[]> => {
  const sink = await startSink(surroundings);
  const start = (settings: Readonly<Record<string, string>>, script?: string): Promise<Server> =>
    startService(surroundings, null, { ...PATIENT, ...settings }, script);
  const traced = (share: string) =>
    start({ OTEL_EXPORTER_OTLP_ENDPOINT: sink, OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: share });
  return [
    { name: 'nothing', server: await start({ LOG_LEVEL: 'silent' }, fileOf('unobserved-service.ts')) },
    { name: 'metrics', server: await start({ LOG_LEVEL: 'silent' }) },
    { name: 'metrics_and_log', server: await start({}) },
    { name: 'traces_of_a_tenth', server: await traced('0.1') },
    { name: 'traces_of_all', server: await traced('1') },
  ];
};

const startSink = async ({ cores, processes, path }: Surroundings): Promise<string> => {
  const port = await findFreePort();
  const words = [process.execPath, fileOf('trace-sink.ts'), String(port)];
  processes.start({
    words: onCore(cores.pinned ? cores.load : null, words),
    environment: { PATH: path },
    output: 'ignore',
    channel: 'ignore',
  });
  return `http://127.0.0.1:${port}`;
};
