import type { Logger } from 'pino';
import type { Redactor } from '../executor/redactor.ts';
import type { BeginTrace } from '../routes/request-tracing.ts';
import type { Config } from '../settings/config.ts';
import { createQuietLine } from '../telemetry/create-quiet-line.ts';
import { type DescribedError, describeCauses } from '../telemetry/describe-error.ts';
import { passTraceOn } from '../telemetry/tracing/pass-trace-on.ts';

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

// Less than the second that a process which stops has for what it gives back.
const CLOSE_MS = 800;

/** Traces where a collector is named; else only passes on what callers sent, and loads nothing. */
export const wireTracing = async (config: Config, parts: TracingParts): Promise<WiredTracing> => {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint } = config;
  const { version, log, environment, redactor, now } = parts;
  if (endpoint === undefined || tracingOf(config, environment) === 'off')
    return { beginTrace: passTraceOn, close: () => Promise.resolve() };
  const { hearSdk } = await import('../telemetry/tracing/hear-sdk.ts');
  const { readSdkVariables } = await import('../telemetry/tracing/sdk-variables.ts');
  const { loadTracer } = await import('../telemetry/tracing/load-tracer.ts');
  const { createTraceGuard } = await import('../telemetry/tracing/trace-guard.ts');
  const { createBeginTrace } = await import('../telemetry/tracing/create-begin-trace.ts');
  const stopHearing = hearSdk(createWarningNote(parts));
  const variables = readSdkVariables(environment);
  for (const variable of variables.ignored) log.warn({ variable }, 'variable of OpenTelemetry ignored');
  const { tracer, flush } = await loadTracer({
    url: toTracesUrl(endpoint, environment),
    version,
    variables,
    exportFailed: createExportNote(parts),
  });
  return {
    beginTrace: createBeginTrace({
      tracer,
      guard: createTraceGuard(createFailureNote(parts)),
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

/** Whether a collector is named, and OpenTelemetry not switched off by its own variable. */
export const tracingOf = (
  { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }: Config,
  environment: TracingParts['environment'],
): 'on' | 'off' =>
  endpoint === undefined || environment['OTEL_SDK_DISABLED']?.trim().toLowerCase() === 'true' ? 'off' : 'on';

/** By the OTLP specification: an address of traces alone is used as it is, the base address gets their path. */
const toTracesUrl = (endpoint: string, { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own }: TracingParts['environment']) => {
  if (own !== undefined && URL.canParse(own)) return own;
  const url = new URL(endpoint);
  url.pathname = `${url.pathname.replace(/\/$/, '')}/v1/traces`;
  return url.href;
};

const createExportNote = ({ log, now }: TracingParts) => {
  const line = createQuietLine<{ causes: readonly DescribedError[]; spans: number }>({
    write: (fields) => log.warn(fields, 'spans not sent'),
    now,
  });
  return (error: unknown, spans: number): void => line(() => ({ causes: describeCauses(error), spans }));
};

const createFailureNote = ({ log, now }: TracingParts) => {
  const line = createQuietLine<{ causes: readonly DescribedError[] }>({
    write: (fields) => log.error(fields, 'tracing failed'),
    now,
  });
  return (error: unknown): void => line(() => ({ causes: describeCauses(error) }));
};

const MAX_REASON = 300;

const createWarningNote = ({ log, now, redactor }: TracingParts) => {
  const line = createQuietLine<{ reason: string }>({ write: (fields) => log.warn(fields, 'OpenTelemetry warns'), now });
  return (message: string): void => line(() => ({ reason: redactor.cut(message, MAX_REASON, 'span') }));
};

const within = async (ms: number, work: Promise<void>): Promise<void> => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await Promise.race([work, promise]);
  clearTimeout(timer);
};
