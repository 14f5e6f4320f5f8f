import type { ConfigText, Variables } from '../config-file/expand-variables.ts';
import type { ConfigContent } from '../config-file/load-config-file.ts';
import { findConfigFile, readConfigFile } from '../config-file/read-config-file.ts';
import type { Config } from '../settings/config.ts';

/** A configuration file as it was when the service started. */
export type FirstConfigFile = {
  /** Absolute. */
  readonly path: string;
  readonly text: string;
  readonly content: ConfigContent;
  readonly texts: readonly ConfigText[];
};

export type FirstConfigReading = { readonly file: FirstConfigFile | null; readonly mistakes: readonly string[] };

/** The configuration file as it is now, null where there is none, and every mistake in it, one line each. Never rejects. */
export const readFirstConfigFile = async (
  { CONFIG_FILE }: Pick<Config, 'CONFIG_FILE'>,
  environment: Variables,
): Promise<FirstConfigReading> => {
  const path = await findConfigFile(CONFIG_FILE, process.cwd());
  if (path === null) return { file: null, mistakes: [] };
  const reading = await readConfigFile(path);
  if (!reading.ok) return { file: null, mistakes: [`CONFIG_FILE ${path} cannot be read: ${reading.problem}`] };
  const { text } = reading;
  // Only here: a service without such a file need not pay for what reads one.
  const { loadConfigFile } = await import('../config-file/load-config-file.ts');
  const loaded = loadConfigFile({ file: path, text, environment });
  if (!loaded.ok) return { file: null, mistakes: loaded.mistakes };
  return { file: { path, text, content: loaded.content, texts: loaded.texts }, mistakes: [] };
};
