import type { Logger } from 'pino';
import { type Config, isTraced } from '../config/settings/config.ts';
import type { Redactor } from '../executor/redactor.ts';
import { PACKAGES } from '../packages.ts';
import { passTraceOn } from '../routes/traceparent.ts';
import type { BeginTrace } from '../routes/watch-requests.ts';

type WiredTracing = {
  readonly beginTrace: BeginTrace;
  /** Sends the spans that wait, within 0.8 s. Never rejects. */
  readonly close: () => Promise<void>;
};

type TracingParts = {
  readonly version: string;
  readonly log: Logger;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly redactor: Pick<Redactor, 'cut'>;
  readonly now: () => number;
};

/** Traces where a collector is named; else only passes on what callers sent, and loads nothing. */
export const wireTracing = async (config: Config, parts: TracingParts): Promise<WiredTracing> => {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint } = config;
  if (endpoint === undefined || !isTraced(config, parts.environment))
    return { beginTrace: passTraceOn, close: () => Promise.resolve() };
  const { openTracing } = await PACKAGES.tracing();
  return openTracing({ ...parts, endpoint, content: config.TRACE_CONTENT ? 'kept' : 'left_out' });
};
