import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Logger } from 'pino';
import type { Config } from './settings/config.ts';

/** Warns of settings whose tools are not offered, and of tools whose settings are missing: both are mostly an oversight. */
export const checkToolGroups = (config: Config, log: Logger): void => {
  for (const { setting, groups, use, path } of config.extensions.purposes) {
    const offered = groups.filter((group) => config.TOOL_GROUPS.includes(group));
    const value: unknown = Reflect.get(config, setting);
    if (use !== undefined && value !== undefined && offered.length === 0)
      log.warn({ setting, groups }, 'setting has no effect: TOOL_GROUPS contains none of its groups');
    if (use === 'needed' && value === undefined && offered.length > 0)
      log.warn({ setting, groups: offered }, 'tool group is not configured: its calls will fail');
    if (path === 'credentials' && typeof value === 'string' && offered.length > 0 && !existsSync(value))
      log.warn({ setting, path: resolve(value) }, 'credentials file does not exist');
  }
};
