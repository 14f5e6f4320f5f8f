import type { Tracer } from '@opentelemetry/api';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import type { Sampling, SdkVariables } from './sdk-variables.ts';

export type LoadedTracer = {
  readonly tracer: Tracer;
  /** Sends what is left, for as long as that takes. Never rejects. */
  readonly flush: () => Promise<void>;
};

export type TracerOptions = {
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
    sampler: toSampler(sdk, variables.sampling),
    spanProcessors: [new sdk.BatchSpanProcessor({ exporter, ...variables.queue })],
  });
  return {
    tracer: provider.getTracer('recourse', version),
    flush: async () => {
      await Promise.allSettled([provider.shutdown()]);
    },
  };
};

const toSampler = (sdk: typeof import('@opentelemetry/sdk-trace'), { root, parent, ratio }: Sampling) => {
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
