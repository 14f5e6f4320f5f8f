import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import type { KeyFile } from './auth/key-file.ts';
import { trackAnswers, type WhenSent } from './routes/owed-answers.ts';
import { type Config, hasKeys, loadConfig } from './settings/config.ts';
import { describeCauses } from './telemetry/describe-error.ts';
import { createLogger } from './telemetry/logger.ts';
import { createWorkspace } from './tools/builtin/workspace/workspace.ts';
import { readDirectory } from './tools/directory/read-directory.ts';
import { readFirstConfigFile } from './wiring/first-config-file.ts';
import { toPlatformProblem } from './wiring/platform-problem.ts';
import { readFirstKeyFile } from './wiring/wire-access.ts';
import { wireRedaction } from './wiring/wire-redaction.ts';
import { createWorkspaceGuard } from './wiring/workspace-guard.ts';
import { type Service, wire } from './wiring.ts';

const main = async (): Promise<void> => {
  const unsupported = toPlatformProblem(process.platform);
  if (unsupported !== null) return refuseToStart([unsupported]);
  const loaded = loadConfig(process.env);
  const { config } = loaded;
  const paths = await readPaths(config);
  const { file: configFile, mistakes: inFile } = await readFirstConfigFile(config, process.env);
  const guard = await createWorkspaceGuard({ config, environment: process.env });
  const inWorkspace = await guard.checkSettings(paths.toolFiles);
  const named = configFile === null ? [] : await guard.checkContent(configFile.path, configFile.content);
  const ofSettings = 'mistakes' in loaded ? loaded.mistakes : [];
  const mistakes = [...ofSettings, ...paths.mistakes, ...inFile, ...inWorkspace, ...named];
  if (mistakes.length > 0) return refuseToStart(mistakes);
  const redaction = wireRedaction(config, process.env);
  const { redactor } = redaction;
  const format = process.stdout.isTTY ? 'pretty' : 'json';
  const { log, logBatch } = await createLogger({ level: config.LOG_LEVEL, format, redactor });
  if (redaction.guessable.length > 0)
    log.warn({ variables: redaction.guessable }, 'secrets can be guessed: each has fewer than 16 characters');
  if (redaction.leftOut.length > 0)
    log.warn({ variables: redaction.leftOut }, 'secrets not registered: each is a word of the contract');
  // As Node would end, but for what it would print as it is.
  process.on('uncaughtException', (error) => {
    const causes = describeCauses(error);
    log.fatal({ causes }, 'exception that nobody caught');
    process.stderr.write(
      `recourse: an exception that nobody caught: ${redactor.text(causes[0]?.message ?? '', 'log')}\n`,
    );
    log.flush(() => process.exit(1));
    setTimeout(() => process.exit(1), ANSWER_MS);
  });
  process.on('unhandledRejection', (reason) => log.error({ causes: describeCauses(reason) }, 'unhandled rejection'));
  try {
    const { keyFile } = paths;
    const service = await wire(config, log, { environment: process.env, redaction, keyFile, configFile, logBatch });
    // Whatever it ends by: a second signal, a port that is in use, an exception nobody caught.
    process.on('exit', service.killHosts);
    stopOnSignals(service, trackAnswers(service.app.server), config, log);
    // First: who starts the service waits for the port of the calls.
    await service.opsApp?.listen({ host: config.HOST, port: config.OPS_PORT ?? 0 });
    await service.app.listen({ host: config.HOST, port: config.PORT });
    announce(service, config, log);
  } catch (error) {
    refuseToStart([redactor.text(toStartProblem(error, config), 'log')]);
  }
};

const refuseToStart = (problems: readonly string[]): void => {
  for (const problem of problems) process.stderr.write(`recourse: ${problem}\n`);
  process.exit(1);
};

type Paths = {
  readonly keyFile: KeyFile | null;
  /** Source files in TOOLS_DIR. */
  readonly toolFiles: readonly string[];
  readonly mistakes: readonly string[];
};

// Tried by those who will read them, so that these mistakes stand in one list with all others.
const readPaths = async (config: Config): Promise<Paths> => {
  const { WORKSPACE_DIR, TOOLS_DIR } = config;
  let keyFile: KeyFile | null = null;
  let toolFiles: readonly string[] = [];
  const readTools = async (directory: string): Promise<void> => {
    toolFiles = [...(await readDirectory(directory)).sources.keys()];
  };
  const readKeys = (): void => {
    keyFile = readFirstKeyFile(config);
  };
  const mistakes = await Promise.all([
    mistakeOf('API_KEYS_FILE', readKeys),
    WORKSPACE_DIR === undefined ? null : mistakeOf('WORKSPACE_DIR', () => createWorkspace({ root: WORKSPACE_DIR })),
    TOOLS_DIR === undefined ? null : mistakeOf('TOOLS_DIR', () => readTools(TOOLS_DIR)),
  ]);
  return { keyFile, toolFiles, mistakes: mistakes.filter((mistake) => mistake !== null) };
};

const mistakeOf = async (setting: string, read: () => unknown): Promise<string | null> => {
  try {
    await read();
    return null;
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return problem.startsWith(setting) ? problem : `${setting}: ${problem}`;
  }
};

const toStartProblem = (error: unknown, { HOST, PORT, OPS_PORT }: Config): string => {
  if (!(error instanceof Error)) return String(error);
  const { code, port } = Object.assign({ code: '', port: PORT }, error);
  const setting = port === OPS_PORT ? 'OPS_PORT' : 'PORT';
  switch (code) {
    case 'EADDRINUSE':
      return `port ${port} on ${HOST} is in use: stop what listens there, or set ${setting}.`;
    case 'EACCES':
      return `port ${port} on ${HOST} may not be used by this user: set ${setting} to 1024 or more.`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `HOST ${HOST} is not an address of this machine: set HOST to one that is, or to 0.0.0.0 for all.`;
    default:
      return error.message;
  }
};

const announce = ({ app, opsApp }: Service, config: Config, log: Logger): void => {
  const address = app.server.address();
  if (address === null || typeof address === 'string') return;
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  log.info({ address: address.address, port: address.port, ...toOpsPort(opsApp?.server.address()) }, 'listening');
  const url = `http://${host.replace(/^(0\.0\.0\.0|\[::\])$/, '127.0.0.1')}:${address.port}`;
  process.stderr.write(`Recourse serves on ${url}. Try:\n\n  ${toCurlLine(url, config)}\n\n`);
};

const toOpsPort = (address: AddressInfo | string | null | undefined): { readonly ops_port?: number } =>
  typeof address === 'object' && address !== null ? { ops_port: address.port } : {};

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

// When a process group is told to end, `npm start` hands the signal on to the service, which has had it already.
const SAME_SIGNAL_MS = 1000;

/** SIGTERM and SIGINT drain: no new batch, the running ones get their grace, exit 0. A second signal ends at once. */
const stopOnSignals = (service: Service, whenSent: WhenSent, config: Config, log: Logger): void => {
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

const ANSWER_MS = 1000;

const stop = async (service: Service, whenSent: WhenSent, config: Config, log: Logger): Promise<void> => {
  const { app, opsApp, executor, drain, close } = service;
  const graceEndsAt = performance.now() + config.SHUTDOWN_GRACE_MS;
  drain();
  await within(config.SHUTDOWN_GRACE_MS, executor.whenIdle());
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
  log.flush(() => process.exit(0));
  setTimeout(() => process.exit(0), ANSWER_MS);
};

const within = (ms: number, work: Promise<unknown>): Promise<unknown> => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  return Promise.race([work, promise]).finally(() => clearTimeout(timer));
};

await main();
