import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import type { Logger } from 'pino';
import type { Variables } from '../config/file/expand-variables.ts';
import { warnOfMisspelled } from '../config/misspelled-names.ts';
import { readConfiguration, toPlatformProblem } from '../config/read-configuration.ts';
import { type Config, hasKeys } from '../config/settings/config.ts';
import { readManifest } from '../files/own-package.ts';
import { trackAnswers, type WhenSent } from '../routes/connections.ts';
import { describeCauses } from '../telemetry/describe-error.ts';
import { createLogger, type ServiceLog } from '../telemetry/logger.ts';
import { type Service, wire } from '../wiring/wire.ts';
import { type WiredRedaction, wireRedaction } from '../wiring/wire-redaction.ts';
import { type CliContext, toPlainText } from './terminal.ts';

/** Each as it was written on the command line. */
export type ServeOptions = {
  readonly port?: string;
  readonly host?: string;
  readonly tools?: string;
  readonly config?: string;
  readonly envFile?: string;
  readonly lanes?: string;
  readonly role?: 'worker';
};

/** Serves until a signal ends the process. Resolves once it listens; a start that fails ends the process with 1. */
export const serve = async (options: ServeOptions, context: CliContext): Promise<void> => {
  const unsupported = toPlatformProblem(process.platform);
  if (unsupported !== null) return refuseToStart([unsupported]);
  const loaded = context.loadEnvironment(options.envFile);
  if (loaded.file !== null && loaded.mistake === null)
    process.stderr.write(
      `recourse: settings are also read from ${toPlainText(loaded.file)}; the environment overrides them.\n`,
    );
  const environment = { ...loaded.variables, ...toSettings(options) };
  const { config, mistakes, keyFile, configFile } = await readConfiguration(loaded, environment);
  if (mistakes.length > 0) return refuseToStart(mistakes);
  const redaction = wireRedaction(config, environment);
  const format = process.stdout.isTTY ? 'pretty' : 'json';
  const serviceLog = await createLogger({
    level: config.LOG_LEVEL,
    levels: config.LOG_LEVEL_FORMAT,
    format,
    origin: { service: environment['OTEL_SERVICE_NAME'] || 'recourse', version: readManifest().version },
    redactor: redaction.redactor,
  });
  const { log } = serviceLog;
  warnOfSecrets(log, redaction);
  warnOfMisspelled(config, environment, configFile, log);
  endOnUncaught(log, redaction);
  try {
    const service = await wire(config, log, { environment, redaction, keyFile, configFile, ...serviceLog });
    // Whatever it ends by: a second signal, a port that is in use, an exception nobody caught.
    process.on('exit', service.killHosts);
    keepAudit(service);
    stopOnSignals(service, config, log);
    keepRequestsYoung();
    // First: who starts the service waits for the port of the calls.
    await service.opsApp?.listen({ host: config.HOST, port: config.OPS_PORT ?? config.PORT });
    // A worker is asked by nobody.
    if (config.ROLE !== 'worker') await service.app.listen({ host: config.HOST, port: config.PORT });
    announce(service, config, log);
  } catch (error) {
    refuseToStart([redaction.redactor.text(toStartProblem(error, config), 'log')]);
  }
};

/**
 * Where objects made at a place in the code outlive collections, V8 allocates all later ones of that place in its old generation, for good.
 * One burst that Redis answers late would do that to every later request: collections would take three times as long
 * (docs/decisions/0091). Not before all is loaded: with another flag, V8 takes no code from the compile cache.
 */
const keepRequestsYoung = (): void => setFlagsFromString('--no-allocation-site-pretenuring');

/** As logrotate tells that it has moved a file. Without one the signal ends the process, as it does when a terminal closes. */
const keepAudit = ({ audit: { reopen, flushSync } }: Service): void => {
  if (reopen !== undefined) process.on('SIGHUP', reopen);
  if (flushSync !== undefined) process.on('exit', flushSync);
};

/** The settings that the options stand for; each overrides the variable of the environment. */
const toSettings = ({ port, host, tools, config, lanes, role }: ServeOptions): Variables => ({
  ...(role === undefined ? {} : { ROLE: role }),
  ...(lanes === undefined ? {} : { WORKER_LANES: lanes }),
  ...(port === undefined ? {} : { PORT: port }),
  // The only port of a worker: an OPS_PORT of the environment would win over the option.
  ...(port === undefined || role !== 'worker' ? {} : { OPS_PORT: '' }),
  ...(host === undefined ? {} : { HOST: host }),
  ...(tools === undefined ? {} : { TOOLS_DIR: tools }),
  ...(config === undefined ? {} : { CONFIG_FILE: config }),
});

const refuseToStart = (problems: readonly string[]): void => {
  for (const problem of problems) process.stderr.write(`recourse: ${toPlainText(problem)}\n`);
  process.exit(1);
};

const warnOfSecrets = (log: Logger, { guessable, leftOut }: WiredRedaction): void => {
  if (guessable.length > 0)
    log.warn({ variables: guessable }, 'weak secrets: each has fewer than 16 characters and can be guessed');
  if (leftOut.length > 0)
    log.warn({ variables: leftOut }, 'secrets not redacted: their values are words that the API itself uses');
};

/** As Node would end, but for what it would print as it is. */
const endOnUncaught = (log: ServiceLog['log'], { redactor }: WiredRedaction): void => {
  process.on('uncaughtException', (error) => {
    const causes = describeCauses(error);
    log.fatal({ causes }, 'uncaught exception');
    process.stderr.write(`recourse: uncaught exception: ${redactor.text(causes[0]?.message ?? '', 'log')}\n`);
    flushAndExit(log, 1);
  });
  process.on('unhandledRejection', (reason) => log.error({ causes: describeCauses(reason) }, 'unhandled rejection'));
};

// What is left to do takes a moment; a reader of the log that has gone must not hold the end up.
const ANSWER_MS = 1000;

const flushAndExit = (log: Logger, code: 0 | 1): void => {
  log.flush(() => process.exit(code));
  setTimeout(() => process.exit(code), ANSWER_MS);
};

/** Why the service cannot listen, and which setting to change. */
const toStartProblem = (error: unknown, { HOST, PORT, OPS_PORT }: Config): string => {
  if (!(error instanceof Error)) return String(error);
  const { code, port } = Object.assign({ code: '', port: PORT }, error);
  const setting = port === OPS_PORT ? 'OPS_PORT' : 'PORT';
  switch (code) {
    case 'EADDRINUSE':
      return `port ${port} on ${HOST} is in use: stop the process that listens on it, or set ${setting}.`;
    case 'EACCES':
      return `this user may not listen on port ${port} of ${HOST}: set ${setting} to 1024 or more.`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `HOST ${HOST} is not an address of this machine: set HOST to one that is, or to 0.0.0.0 for all.`;
    default:
      return error.message;
  }
};

// When a process group is told to end, `npm start` hands the signal on to the service, which has had it already.
const SAME_SIGNAL_MS = 1000;

/** SIGTERM and SIGINT drain: no new batch, the running ones get their grace, exit 0. A second signal ends at once. */
const stopOnSignals = (service: Service, config: Config, log: Logger): void => {
  const whenSent = trackAnswers(service.app.server);
  let stoppingSince: number | null = null;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (stoppingSince === null) {
      stoppingSince = performance.now();
      log.info({ signal }, 'draining');
      void stop(service, whenSent, config, log);
      return;
    }
    if (performance.now() - stoppingSince >= SAME_SIGNAL_MS) process.exit(1);
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
};

const stop = async (service: Service, whenSent: WhenSent, config: Config, log: Logger): Promise<void> => {
  const { app, opsApp, executor, drain, close } = service;
  const graceMs = Math.max(config.SHUTDOWN_GRACE_MS, config.ROLE === 'api' ? 0 : (config.WORKER_GRACE_MS ?? 0));
  const graceEndsAt = performance.now() + graceMs;
  drain();
  await within(graceMs, executor.whenIdle());
  // What is still running is cut off; its batches are answered all the same.
  executor.endAll();
  await within(ANSWER_MS, executor.whenIdle());
  // Before the server closes: up to Node 26 that cuts off an answer which is given but not yet sent to its end.
  await within(Math.max(ANSWER_MS, graceEndsAt - performance.now()), whenSent());
  await within(ANSWER_MS, app.close());
  // Last: until here it has said that the service drains.
  await within(ANSWER_MS, opsApp?.close() ?? Promise.resolve());
  await within(ANSWER_MS, close());
  log.info('stopped');
  flushAndExit(log, 0);
};

const within = (ms: number, work: Promise<unknown>): Promise<unknown> => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  return Promise.race([work, promise]).finally(() => clearTimeout(timer));
};

/** Logs that the service listens, and tells people on stderr where, with which tools, and a call to try. */
const announce = ({ app, opsApp, listTools }: Service, config: Config, log: Logger): void => {
  if (config.ROLE === 'worker') {
    announceWorker(opsApp?.server.address(), config, log);
    return;
  }
  const address = app.server.address();
  if (address === null || typeof address === 'string') return;
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  log.info({ address: address.address, port: address.port, ...toOpsPort(opsApp?.server.address()) }, 'listening');
  const url = `http://${host.replace(/^(0\.0\.0\.0|\[::\])$/, '127.0.0.1')}:${address.port}`;
  const lines = [
    `Recourse serves on ${url}.`,
    ...(config.CONSOLE ? [`  console  ${url}/console`] : []),
    `  tools    ${toToolCount(listTools(), config)}`,
    'Try:',
    '',
    `  ${toCurlLine(url, config)}`,
  ];
  process.stderr.write(`${lines.join('\n')}\n\n`);
};

const announceWorker = (address: AddressInfo | string | null | undefined, config: Config, log: Logger): void => {
  const lanes = config.WORKER_LANES.length === 0 ? 'all' : config.WORKER_LANES;
  log.info({ ...toOpsPort(address), lanes }, 'working');
  const { ops_port } = toOpsPort(address);
  process.stderr.write(`Recourse runs queued calls, and serves /live, /ready and /metrics on port ${ops_port}.\n`);
};

const toOpsPort = (address: AddressInfo | string | null | undefined): { readonly ops_port?: number } =>
  typeof address === 'object' && address !== null ? { ops_port: address.port } : {};

const toToolCount = (tools: ReturnType<Service['listTools']>, { TOOLS_DIR }: Config): string => {
  if (TOOLS_DIR === undefined) return `${tools.length} (add your own with --tools DIRECTORY)`;
  const own = tools.filter(({ source }) => source.startsWith('TOOLS_DIR/')).length;
  return `${tools.length}, ${own} of them from ${TOOLS_DIR}`;
};

// Quoted, for zsh would take the brackets of an IPv6 address for a pattern.
const toCurlLine = (url: string, config: Config): string => {
  const key = hasKeys(config) ? ` -H "authorization: Bearer $YOUR_KEY"` : '';
  // Only of the example workspace is it known what is in it.
  const call =
    config.WORKSPACE_DIR === undefined
      ? '{"id":"call_1","name":"read_file","arguments":{"path":"notes.md"}}'
      : '{"id":"call_1","name":"list_files","arguments":{}}';
  return `curl -s '${url}/tool-calls' -H 'content-type: application/json'${key} -d '{"calls":[${call}]}'`;
};
