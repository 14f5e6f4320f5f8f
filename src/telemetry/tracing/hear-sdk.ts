import { DiagLogLevel, diag } from '@opentelemetry/api';

/**
 * Tells of what OpenTelemetry's SDK warns of. It knows one listener a process: the last one that was named. Gives the
 * way to stop listening.
 */
export const hearSdk = (warn: (message: string) => void): (() => void) => {
  const silent = (): void => undefined;
  const listener = { error: toFirst(warn), warn: toFirst(warn), info: silent, debug: silent, verbose: silent };
  diag.setLogger(listener, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  return () => diag.disable();
};

// What comes after the message is for a console: spans, answers of the collector.
const toFirst =
  (warn: (message: string) => void) =>
  (message: string): void =>
    warn(message);
