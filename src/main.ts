import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { type Config, loadConfig } from './config.ts';
import { describeCauses } from './telemetry/describe-error.ts';
import { createLogger } from './telemetry/logger.ts';
import { type Service, wire } from './wiring.ts';

const main = async (): Promise<void> => {
  const loaded = loadConfig(process.env);
  if ('mistakes' in loaded) return refuseToStart(loaded.mistakes);
  const { config } = loaded;
  const log = createLogger({ level: config.LOG_LEVEL, format: process.stdout.isTTY ? 'pretty' : 'json' });
  process.on('unhandledRejection', (reason) => log.error({ causes: describeCauses(reason) }, 'unhandled rejection'));
  try {
    const service = await wire(config, log);
    stopOnSignals(service, config, log);
    await service.app.listen({ host: config.HOST, port: config.PORT });
    announce(service.app.server.address(), log);
  } catch (error) {
    refuseToStart([toStartProblem(error, config)]);
  }
};

const refuseToStart = (problems: readonly string[]): void => {
  for (const problem of problems) process.stderr.write(`recourse: ${problem}\n`);
  process.exit(1);
};

const toStartProblem = (error: unknown, { HOST, PORT }: Config): string => {
  if (!(error instanceof Error)) return String(error);
  const { code } = Object.assign({ code: '' }, error);
  if (code === 'EADDRINUSE') return `port ${PORT} on ${HOST} is in use: stop what listens there, or set PORT.`;
  if (code === 'EACCES') return `port ${PORT} on ${HOST} may not be used by this user: set PORT to 1024 or more.`;
  return error.message;
};

const announce = (address: AddressInfo | string | null, log: Logger): void => {
  if (address === null || typeof address === 'string') return;
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  log.info({ address: address.address, port: address.port }, 'listening');
  const call = '{"calls":[{"id":"call_1","name":"read_file","arguments":{"path":"notes.md"}}]}';
  const url = `http://${host.replace(/^(0\.0\.0\.0|\[::\])$/, '127.0.0.1')}:${address.port}`;
  process.stderr.write(
    `Recourse serves on ${url}. Try:\n\n  curl -s ${url}/tool-calls -H 'content-type: application/json' -d '${call}'\n\n`,
  );
};

/** SIGTERM and SIGINT drain: no new batch, the running ones get their grace, exit 0. A second signal ends at once. */
const stopOnSignals = (service: Service, config: Config, log: Logger): void => {
  let stopping = false;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (stopping) process.exit(1);
    stopping = true;
    log.info({ signal }, 'draining');
    void stop(service, config, log);
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
};

const ANSWER_MS = 1000;

const stop = async ({ app, executor, drain, close }: Service, config: Config, log: Logger): Promise<void> => {
  drain();
  await within(config.SHUTDOWN_GRACE_MS, executor.whenIdle());
  // What is still running is cut off; its batches are answered all the same.
  executor.endAll();
  await within(ANSWER_MS, executor.whenIdle());
  await within(ANSWER_MS, app.close());
  await within(ANSWER_MS, close());
  log.info('stopped');
  log.flush(() => process.exit(0));
  setTimeout(() => process.exit(0), ANSWER_MS);
};

const within = (ms: number, work: Promise<unknown>): Promise<unknown> => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  return Promise.race([work, promise]).finally(() => clearTimeout(timer));
};

await main();
