import type { Logger } from 'pino';
import { findNearestNames } from '../contract/nearest-names.ts';
import type { Variables } from './file/expand-variables.ts';
import type { FirstConfigFile } from './file/read-config-file.ts';
import type { Config } from './settings/config.ts';
import { SETTINGS } from './settings/settings.ts';

/** Warns of each variable that is no setting and looks like one; not of those that tools or the configuration file read. */
export const warnOfMisspelled = (
  { TOOLS_ENV, TOOLS_ENV_ALLOW, SECRETS_ENV, extensions }: Config,
  environment: Variables,
  configFile: FirstConfigFile | null,
  log: Logger,
): void => {
  const named = new Set([...TOOLS_ENV, ...TOOLS_ENV_ALLOW, ...SECRETS_ENV]);
  const isUsed = (variable: string): boolean =>
    named.has(variable) ||
    TOOLS_ENV_ALLOW.some((name) => name.endsWith('*') && variable.startsWith(name.slice(0, -1))) ||
    configFile?.text.includes(variable) === true;
  for (const { variable, meant } of findMisspelledSettings(
    environment,
    [...Object.keys(SETTINGS), ...Object.keys(extensions.settings)],
    isUsed,
  ))
    log.warn({ variable, did_you_mean: meant }, 'environment variable is not a setting and is ignored');
};

/** Warns of each name in TOOLS_INLINE and TOOL_HOSTS_OWN that no tool has when the service starts. */
export const warnOfUnusedNames = (
  config: Pick<Config, 'TOOLS_INLINE' | 'TOOL_HOSTS_OWN'>,
  tools: readonly { readonly name: string }[],
  log: Logger,
): void => {
  const names = tools.map(({ name }) => name);
  for (const setting of ['TOOLS_INLINE', 'TOOL_HOSTS_OWN'] as const)
    for (const name of config[setting].filter((each) => !each.includes('*') && !names.includes(each)))
      log.warn({ setting, name, nearest: findNearestNames(name, names, 1)[0] ?? null }, 'setting names no tool');
};

// Shorter settings (PORT, HOST, DOCS) have too many neighbours that other programs read.
const LEAST_LETTERS = 6;
const NAME = /^[A-Za-z][A-Za-z0-9_]*$/;
// What Kubernetes and Docker set for each Service: REDIS_PORT, REDIS_SERVICE_HOST, REDIS_PORT_6379_TCP_ADDR.
const SERVICE_LINK = /_(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT|PORT_\d+_(?:TCP|UDP)(?:_\w+)?)$/;
// Read by Node, npm, CI systems and OpenTelemetry's own libraries.
const FOREIGN = /^(?:NODE|NPM|KUBERNETES|GITHUB|GITLAB|CI|RUNNER|ACTIONS|OTEL|AWS|AZURE|VSCODE|XDG)_/i;

/**
 * Variables of the environment that look like settings of this service and are none: `TOOL_DIR` for `TOOLS_DIR`,
 * `SESSION_TTL` for `SESSION_TTL_SECONDS`. A variable whose setting is given as well is another program's, and so are
 * those that `isUsed` says are read under their own name.
 */
export const findMisspelledSettings = (
  environment: Variables,
  settings: readonly string[],
  isUsed: (variable: string) => boolean,
) => {
  const targets = settings.filter((setting) => setting.length >= LEAST_LETTERS && !environment[setting]);
  return Object.keys(environment)
    .filter((variable) => environment[variable] && !settings.includes(variable))
    .filter((variable) => isCandidate(variable) && !isUsed(variable))
    .flatMap((variable) => {
      const meant = findMeant(variable.toUpperCase(), targets);
      return meant === undefined ? [] : [{ variable, meant }];
    })
    .sort((one, other) => (one.variable < other.variable ? -1 : 1));
};

const isCandidate = (variable: string): boolean =>
  variable.length >= LEAST_LETTERS && NAME.test(variable) && !SERVICE_LINK.test(variable) && !FOREIGN.test(variable);

/** The setting that is one or two letters away, or differs only in how its last word says a unit or a kind of file. */
const findMeant = (variable: string, settings: readonly string[]): string | undefined => {
  const reach = variable.length >= 8 ? 2 : 1;
  const near = findNearestNames(variable, settings, 1, reach).find(([first]) => first === variable[0]);
  const stem = stemOf(variable);
  return near ?? settings.find((setting) => stem.includes('_') && stemOf(setting) === stem);
};

// What ends in another word (GOOGLE_API_KEY) is another thing.
const stemOf = (name: string): string =>
  name.replace(/DIRECTORY$/, 'DIR').replace(/_(?:MS|SECONDS|BYTES|SIZE|MB|PERCENT|PATH|FILE)$/, '');
