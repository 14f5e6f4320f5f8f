import type { Redactor } from 'recourse-server/executor/redactor';
import type { BeginTrace } from 'recourse-server/routes/watch-requests';
import { type DescribedError, describeCauses } from 'recourse-server/telemetry/describe-error';
import { createQuietLine } from 'recourse-server/telemetry/repeated-lines';
import { hearSdk, loadTracer, readSdkVariables } from './otel-sdk.ts';
import { createBeginTrace } from './request-trace.ts';

type Tracing = {
  readonly beginTrace: BeginTrace;
  /** Sends the spans that wait, within 0.8 s. Never rejects. */
  readonly close: () => Promise<void>;
};

type WriteLine = (fields: object, message: string) => void;

type TracingOptions = {
  /** Of the collector. */
  readonly endpoint: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Whether arguments and results are in spans. */
  readonly content: 'kept' | 'left_out';
  readonly version: string;
  readonly log: { readonly warn: WriteLine; readonly error: WriteLine };
  /** Takes secrets out of a text. */
  readonly redactor: Pick<Redactor, 'cut'>;
  /** Milliseconds that never step back. */
  readonly now: () => number;
};

type Warning = { readonly reason: string };
type Failure = { readonly causes: readonly DescribedError[] };
type Unsent = Failure & { readonly spans: number };

// Less than the second that a process which stops has for what it gives back.
const CLOSE_MS = 800;
const MAX_REASON = 300;

/** Loads OpenTelemetry and sends spans of requests and calls to the collector; logs what goes wrong with that. */
export const openTracing = async (options: TracingOptions): Promise<Tracing> => {
  const { endpoint, environment, content, version, log, redactor, now } = options;
  const noteWarning = createQuietLine<Warning>({ write: (fields) => log.warn(fields, 'OpenTelemetry warning'), now });
  const noteUnsent = createQuietLine<Unsent>({ write: (fields) => log.warn(fields, 'spans not sent'), now });
  const noteFailure = createQuietLine<Failure>({ write: (fields) => log.error(fields, 'tracing failed'), now });
  const stopHearing = hearSdk((text) => noteWarning(() => ({ reason: redactor.cut(text, MAX_REASON, 'span') })));
  const variables = readSdkVariables(environment);
  for (const variable of variables.ignored) log.warn({ variable }, 'OpenTelemetry variable ignored');
  const { tracer, flush } = await loadTracer({
    url: decideTracesUrl(endpoint, environment),
    version,
    variables,
    exportFailed: (error, spans) => noteUnsent(() => ({ causes: describeCauses(error), spans })),
  });
  return {
    beginTrace: createBeginTrace({
      tracer,
      failed: (error) => noteFailure(() => ({ causes: describeCauses(error) })),
      cutText: (text, limit) => redactor.cut(text, limit, 'span'),
      content,
      now,
      time: Date.now,
    }),
    close: async () => {
      await within(CLOSE_MS, flush());
      stopHearing();
    },
  };
};

/** By the OTLP specification: an address of traces alone is used as it is, the base address gets their path. */
const decideTracesUrl = (
  endpoint: string,
  { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own }: TracingOptions['environment'],
) => {
  if (own !== undefined && URL.canParse(own)) return own;
  const url = new URL(endpoint);
  url.pathname = `${url.pathname.replace(/\/$/, '')}/v1/traces`;
  return url.href;
};

const within = async (ms: number, work: Promise<void>): Promise<void> => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await Promise.race([work, promise]);
  clearTimeout(timer);
};
