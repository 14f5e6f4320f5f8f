import { passTraceOn } from '@recourse/tracing/traceparent';
import type { Logger } from 'pino';
import { type Config, isTraced } from '../config/settings/config.ts';
import type { Redactor } from '../executor/redactor.ts';
import type { BeginTrace } from '../routes/watch-requests.ts';
import { type DescribedError, describeCauses } from '../telemetry/describe-error.ts';
import { createQuietLine } from '../telemetry/repeated-lines.ts';

export type WiredTracing = {
  readonly beginTrace: BeginTrace;
  /** Sends the spans that wait, within 0.8 s. Never rejects. */
  readonly close: () => Promise<void>;
};

export type TracingParts = {
  readonly version: string;
  readonly log: Logger;
  readonly environment: Readonly<Record<string, string | undefined>>;
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

/** Traces where a collector is named; else only passes on what callers sent, and loads nothing. */
export const wireTracing = async (config: Config, parts: TracingParts): Promise<WiredTracing> => {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint } = config;
  const { version, log, environment, redactor, now } = parts;
  if (endpoint === undefined || !isTraced(config, environment))
    return { beginTrace: passTraceOn, close: () => Promise.resolve() };
  const { hearSdk, loadTracer, readSdkVariables } = await import('@recourse/tracing/otel-sdk');
  const { createBeginTrace } = await import('@recourse/tracing/request-trace');
  const noteWarning = createQuietLine<Warning>({ write: (fields) => log.warn(fields, 'OpenTelemetry warning'), now });
  const noteUnsent = createQuietLine<Unsent>({ write: (fields) => log.warn(fields, 'spans not sent'), now });
  const noteFailure = createQuietLine<Failure>({ write: (fields) => log.error(fields, 'tracing failed'), now });
  const stopHearing = hearSdk((text) => noteWarning(() => ({ reason: redactor.cut(text, MAX_REASON, 'span') })));
  const variables = readSdkVariables(environment);
  for (const variable of variables.ignored) log.warn({ variable }, 'OpenTelemetry variable ignored');
  const { tracer, flush } = await loadTracer({
    url: toTracesUrl(endpoint, environment),
    version,
    variables,
    exportFailed: (error, spans) => noteUnsent(() => ({ causes: describeCauses(error), spans })),
  });
  return {
    beginTrace: createBeginTrace({
      tracer,
      failed: (error) => noteFailure(() => ({ causes: describeCauses(error) })),
      cutText: (text, limit) => redactor.cut(text, limit, 'span'),
      content: config.TRACE_CONTENT ? 'kept' : 'left_out',
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
const toTracesUrl = (endpoint: string, { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own }: TracingParts['environment']) => {
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
