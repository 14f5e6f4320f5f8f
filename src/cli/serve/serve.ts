import { type Config, loadConfig } from '../../settings/config.ts';
import { describeCauses } from '../../telemetry/describe-error.ts';
import { createLogger, type ServiceLog } from '../../telemetry/logger.ts';
import { type FirstConfigFile, readFirstConfigFile } from '../../wiring/first-config-file.ts';
import { findMissingPackages } from '../../wiring/missing-packages.ts';
import { toPlatformProblem } from '../../wiring/platform-problem.ts';
import { warnOfMisspelled } from '../../wiring/warn-of-misspelled.ts';
import { type WiredRedaction, wireRedaction } from '../../wiring/wire-redaction.ts';
import { createWorkspaceGuard } from '../../wiring/workspace-guard.ts';
import { wire } from '../../wiring.ts';
import type { CliContext, LoadedEnvironment, Variables } from '../terminal/cli-context.ts';
import { announce } from './announce.ts';
import { type Paths, readPaths } from './read-paths.ts';
import { type ServeOptions, toSettings } from './serve-options.ts';
import { ANSWER_MS, stopOnSignals } from './stop-on-signals.ts';
import { toStartProblem } from './to-start-problem.ts';

/** Serves until a signal ends the process. Resolves once it listens; a start that fails ends the process with 1. */
export const serve = async (options: ServeOptions, context: CliContext): Promise<void> => {
  const unsupported = toPlatformProblem(process.platform);
  if (unsupported !== null) return refuseToStart([unsupported]);
  const loaded = context.loadEnvironment(options.envFile);
  if (loaded.file !== null && loaded.mistake === null)
    process.stderr.write(`recourse: settings are read from ${loaded.file}, too; the environment overrides it.\n`);
  const environment = { ...loaded.variables, ...toSettings(options) };
  const { config, mistakes, configFile, paths } = await readSettings(loaded, environment);
  if (mistakes.length > 0) return refuseToStart(mistakes);
  const redaction = wireRedaction(config, environment);
  const format = process.stdout.isTTY ? 'pretty' : 'json';
  const serviceLog = await createLogger({ level: config.LOG_LEVEL, format, redactor: redaction.redactor });
  const { log } = serviceLog;
  warnOfSecrets(serviceLog, redaction);
  warnOfMisspelled(config, environment, configFile, log);
  endOnUncaught(serviceLog, redaction);
  try {
    const { keyFile } = paths;
    const service = await wire(config, log, { environment, redaction, keyFile, configFile, ...serviceLog });
    // Whatever it ends by: a second signal, a port that is in use, an exception nobody caught.
    process.on('exit', service.killHosts);
    stopOnSignals(service, config, log);
    // First: who starts the service waits for the port of the calls.
    await service.opsApp?.listen({ host: config.HOST, port: config.OPS_PORT ?? 0 });
    await service.app.listen({ host: config.HOST, port: config.PORT });
    announce(service, config, log);
  } catch (error) {
    refuseToStart([redaction.redactor.text(toStartProblem(error, config), 'log')]);
  }
};

const refuseToStart = (problems: readonly string[]): void => {
  for (const problem of problems) process.stderr.write(`recourse: ${problem}\n`);
  process.exit(1);
};

type ReadSettings = {
  readonly config: Config;
  readonly paths: Paths;
  readonly configFile: FirstConfigFile | null;
  readonly mistakes: readonly string[];
};

/** The settings, what the files that they name say, and every mistake in all of them. */
const readSettings = async (loaded: LoadedEnvironment, environment: Variables): Promise<ReadSettings> => {
  const ofSettings = loadConfig(environment);
  const { config } = ofSettings;
  const paths = await readPaths(config);
  const { file: configFile, mistakes: inFile } = await readFirstConfigFile(config, environment);
  const guard = await createWorkspaceGuard({ config, environment });
  const mistakes = [
    ...(loaded.mistake === null ? [] : [loaded.mistake]),
    ...('mistakes' in ofSettings ? ofSettings.mistakes : []),
    ...findMissingPackages(config, environment),
    ...paths.mistakes,
    ...inFile,
    ...(await checkVariablesFile(loaded, environment)),
    ...(await guard.checkSettings(paths.toolFiles)),
    ...(configFile === null ? [] : await guard.checkContent(configFile.path, configFile.content)),
  ];
  return { config, paths, configFile, mistakes };
};

/** Tools must not write the settings of the next start: not in this workspace, nor in the one without that file. */
const checkVariablesFile = async ({ file, before }: LoadedEnvironment, environment: Variables) => {
  if (file === null) return [];
  const checks = [environment, before].map(async (variables) => {
    const { config } = loadConfig(variables);
    const guard = await createWorkspaceGuard({ config, environment: variables });
    return guard.check('The file of variables', [file]);
  });
  return (await Promise.all(checks)).flat().slice(0, 1);
};

const warnOfSecrets = ({ log }: ServiceLog, { guessable, leftOut }: WiredRedaction): void => {
  if (guessable.length > 0)
    log.warn({ variables: guessable }, 'secrets can be guessed: each has fewer than 16 characters');
  if (leftOut.length > 0) log.warn({ variables: leftOut }, 'secrets not registered: each is a word of the contract');
};

/** As Node would end, but for what it would print as it is. */
const endOnUncaught = ({ log }: ServiceLog, { redactor }: WiredRedaction): void => {
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
};
