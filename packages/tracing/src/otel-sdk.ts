import { DiagLogLevel, diag, type Tracer } from '@opentelemetry/api';
import type { SpanExporter } from '@opentelemetry/sdk-trace';

type LoadedTracer = {
  readonly tracer: Tracer;
  /** Sends what is left, for as long as that takes. Never rejects. */
  readonly flush: () => Promise<void>;
};

type TracerOptions = {
  /** Where spans are sent to: OTLP over HTTP, protobuf. */
  readonly url: string;
  readonly version: string;
  readonly variables: SdkVariables;
  /** These many spans could not be sent. */
  readonly exportFailed: (error: unknown, spans: number) => void;
};

/**
 * Loads OpenTelemetry's SDK and makes a tracer of it that nobody else sees: nothing is registered globally. The SDK
 * itself reads the other variables of its exporter (headers, time limit, compression, certificates) and of its resource.
 */
export const loadTracer = async ({ url, version, variables, exportFailed }: TracerOptions): Promise<LoadedTracer> => {
  const [sdk, resources, { OTLPTraceExporter }] = await Promise.all([
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/exporter-trace-otlp-proto'),
  ]);
  const { resourceAttributesEnvDetector, serviceNameEnvDetector } = resources;
  const resource = resources
    .defaultResource()
    .merge(resources.resourceFromAttributes({ 'service.name': 'recourse', 'service.version': version }))
    .merge(resources.detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] }));
  const exporter = telling(new OTLPTraceExporter({ url }), exportFailed);
  const provider = new sdk.TracerProvider({
    resource,
    sampler: createSampler(sdk, variables.sampling),
    spanProcessors: [new sdk.BatchSpanProcessor({ exporter, ...variables.queue })],
  });
  return {
    tracer: provider.getTracer('recourse', version),
    flush: async () => {
      await Promise.allSettled([provider.shutdown()]);
    },
  };
};

const createSampler = (sdk: typeof import('@opentelemetry/sdk-trace'), { root, parent, ratio }: Sampling) => {
  const samplers = {
    always_on: () => new sdk.AlwaysOnSampler(),
    always_off: () => new sdk.AlwaysOffSampler(),
    traceidratio: () => new sdk.TraceIdRatioBasedSampler(ratio),
  } as const;
  const sampler = samplers[root]();
  return parent === 'followed' ? new sdk.ParentBasedSampler({ root: sampler }) : sampler;
};

/** The exporter, which tells of its failures. The SDK would only write them down, with the collector's whole answer. */
const telling = (exporter: SpanExporter, exportFailed: TracerOptions['exportFailed']): SpanExporter => ({
  export: (spans, done) =>
    exporter.export(spans, ({ error }) => {
      if (error !== undefined) exportFailed(error, spans.length);
      done({ code: 0 });
    }),
  shutdown: () => exporter.shutdown(),
  forceFlush: async () => exporter.forceFlush?.(),
});

/** Which traces are sampled, by the names of the OpenTelemetry specification. */
type Sampling = {
  readonly root: 'always_on' | 'always_off' | 'traceidratio';
  /** Whether a caller's decision is followed where there is one. */
  readonly parent: 'followed' | 'ignored';
  /** Share of the traces, 0 to 1, for `traceidratio`. */
  readonly ratio: number;
};

/** Limits of the queue in which spans wait to be sent; undefined: the SDK's default. */
type SpanQueue = {
  readonly scheduledDelayMillis?: number;
  readonly exportTimeoutMillis?: number;
  readonly maxQueueSize?: number;
  readonly maxExportBatchSize?: number;
};

type SdkVariables = {
  readonly sampling: Sampling;
  readonly queue: SpanQueue;
  /** Names of variables that say nothing usable, and were ignored as the specification asks. */
  readonly ignored: readonly string[];
};

type Environment = Readonly<Record<string, string | undefined>>;

const SAMPLERS: ReadonlyMap<string, Omit<Sampling, 'ratio'>> = new Map([
  ['always_on', { root: 'always_on', parent: 'ignored' }],
  ['always_off', { root: 'always_off', parent: 'ignored' }],
  ['traceidratio', { root: 'traceidratio', parent: 'ignored' }],
  ['parentbased_always_on', { root: 'always_on', parent: 'followed' }],
  ['parentbased_always_off', { root: 'always_off', parent: 'followed' }],
  ['parentbased_traceidratio', { root: 'traceidratio', parent: 'followed' }],
]);

const DEFAULT_SAMPLER = { root: 'always_on', parent: 'followed' } as const;

const QUEUE = {
  OTEL_BSP_SCHEDULE_DELAY: 'scheduledDelayMillis',
  OTEL_BSP_EXPORT_TIMEOUT: 'exportTimeoutMillis',
  OTEL_BSP_MAX_QUEUE_SIZE: 'maxQueueSize',
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: 'maxExportBatchSize',
} as const;

// What a timer of Node's can wait for.
const MAX_NUMBER = 2 ** 31 - 1;

/**
 * The variables that OpenTelemetry's specification defines and version 3 of its SDK no longer reads: sampler and queue.
 * A value that cannot be used is ignored and named.
 */
export const readSdkVariables = (environment: Environment): SdkVariables => {
  const ignored: string[] = [];
  const read = <Value>(name: string, parse: (text: string) => Value | undefined): Value | undefined => {
    const text = environment[name]?.trim() ?? '';
    if (text === '') return undefined;
    const value = parse(text);
    if (value === undefined) ignored.push(name);
    return value;
  };
  const sampler = read('OTEL_TRACES_SAMPLER', (text) => SAMPLERS.get(text)) ?? DEFAULT_SAMPLER;
  const ratio = sampler.root === 'traceidratio' ? (read('OTEL_TRACES_SAMPLER_ARG', parseShare) ?? 1) : 1;
  const queue = Object.fromEntries(
    Object.entries(QUEUE).flatMap(([name, option]) => {
      const value = read(name, parseCount);
      return value === undefined ? [] : [[option, value]];
    }),
  );
  return { sampling: { ...sampler, ratio }, queue, ignored };
};

const parseShare = (text: string): number | undefined => {
  const share = Number(text);
  return share >= 0 && share <= 1 ? share : undefined;
};

const parseCount = (text: string): number | undefined => {
  const count = Number(text);
  return Number.isInteger(count) && count > 0 && count <= MAX_NUMBER ? count : undefined;
};

/**
 * Tells of what OpenTelemetry's SDK warns of. It knows one listener a process: the last one that was named. Gives the
 * way to stop listening.
 */
export const hearSdk = (warn: (message: string) => void): (() => void) => {
  const silent = (): void => undefined;
  const listener = { error: findFirst(warn), warn: findFirst(warn), info: silent, debug: silent, verbose: silent };
  diag.setLogger(listener, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  return () => diag.disable();
};

// What comes after the message is for a console: spans, answers of the collector.
const findFirst =
  (warn: (message: string) => void) =>
  (message: string): void =>
    warn(message);
