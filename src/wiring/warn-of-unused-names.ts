import type { Logger } from 'pino';
import { findNearestNames } from '../contract/nearest-names.ts';
import type { Config } from '../settings/config.ts';

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
