import type { Logger } from 'pino';
import type { Config } from '../settings/config.ts';
import { findMisspelledSettings } from '../settings/misspelled-settings.ts';
import { SETTINGS } from '../settings/settings.ts';
import type { FirstConfigFile } from './first-config-file.ts';

/** Warns of each variable that is no setting and looks like one; not of those that tools or the configuration file read. */
export const warnOfMisspelled = (
  config: Pick<Config, 'TOOLS_ENV' | 'TOOLS_ENV_ALLOW' | 'SECRETS_ENV'>,
  environment: Readonly<Record<string, string | undefined>>,
  configFile: Pick<FirstConfigFile, 'text'> | null,
  log: Logger,
): void => {
  const named = new Set([...config.TOOLS_ENV, ...config.TOOLS_ENV_ALLOW, ...config.SECRETS_ENV]);
  const isUsed = (variable: string): boolean =>
    named.has(variable) ||
    config.TOOLS_ENV_ALLOW.some((name) => name.endsWith('*') && variable.startsWith(name.slice(0, -1))) ||
    configFile?.text.includes(variable) === true;
  for (const { variable, meant } of findMisspelledSettings(environment, Object.keys(SETTINGS), isUsed))
    log.warn({ variable, did_you_mean: meant }, 'environment variable is no setting and is not read');
};
