import type { Logger } from 'pino';
import type { CallObserver, ToolInvoked } from '../executor/call-observer.ts';
import { SILENT_OBSERVER } from '../executor/silent-observer.ts';
import type { HttpServerOptions } from '../http/http-server.ts';
import type { Config } from '../settings/config.ts';
import { createCallObserver } from '../telemetry/create-call-observer.ts';
import { createResponseObserver } from '../telemetry/create-response-observer.ts';
import type { LogBatch } from '../telemetry/log-batch.ts';
import { createMetrics, type Metrics } from '../telemetry/metrics.ts';

export type TelemetryParts = {
  readonly version: string;
  readonly log: Logger;
  /** Left out: by `log`. */
  readonly logBatch?: LogBatch | undefined;
  readonly now: () => number;
  readonly subscribers: readonly ((event: ToolInvoked) => void)[];
  readonly telemetry: 'on' | 'off';
};

export type WiredTelemetry = {
  readonly metrics: Metrics;
  readonly observer: CallObserver;
  readonly onResponse: HttpServerOptions['onResponse'];
};

/** Metrics, and what counts into them. */
export const wireTelemetry = (config: Config, parts: TelemetryParts): WiredTelemetry => {
  const metrics = createMetrics(parts.version, parts.now);
  if (parts.telemetry === 'off') return { metrics, observer: SILENT_OBSERVER, onResponse: () => undefined };
  const observer = createCallObserver({ ...parts, metrics, maxTools: config.METRICS_MAX_TOOLS });
  return { metrics, observer, onResponse: createResponseObserver(metrics) };
};
