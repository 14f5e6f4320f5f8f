import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Logger } from 'pino';
import type { Config } from '../settings/config.ts';
import type { ToolGroup } from '../tools/tool-family.ts';

const GOOGLE = ['drive', 'mail', 'calendar'] as const;

type Use = {
  readonly setting: keyof Config;
  readonly groups: readonly ToolGroup[];
  /** `needed`: without it the calls of these groups say what is missing. */
  readonly as: 'needed' | 'further';
};

/** What a setting is there for: nothing, where none of its groups is asked for. */
const USES: readonly Use[] = [
  { setting: 'NOTES_DIR', groups: ['notes'], as: 'needed' },
  { setting: 'GOOGLE_CREDENTIALS_PATH', groups: GOOGLE, as: 'needed' },
  { setting: 'GOOGLE_SUBJECT', groups: GOOGLE, as: 'further' },
  { setting: 'GOOGLE_API_URL', groups: GOOGLE, as: 'further' },
  { setting: 'SLACK_BOT_TOKEN', groups: ['slack'], as: 'needed' },
  { setting: 'SLACK_API_URL', groups: ['slack'], as: 'further' },
];

/** Warns of settings whose tools are not offered, and of tools whose settings are missing: both are mostly an oversight. */
export const checkToolGroups = (config: Config, groups: ReadonlySet<ToolGroup>, log: Logger): void => {
  for (const { setting, groups: using, as } of USES) {
    const offered = using.filter((group) => groups.has(group));
    if (config[setting] !== undefined && offered.length === 0)
      log.warn({ setting, groups: using }, 'setting has no effect: TOOL_GROUPS names none of its groups');
    if (as === 'needed' && config[setting] === undefined && offered.length > 0)
      log.warn({ setting, groups: offered }, 'tool group is not set up: its calls will say so');
  }
  const path = config.GOOGLE_CREDENTIALS_PATH;
  if (path !== undefined && GOOGLE.some((group) => groups.has(group)) && !existsSync(path))
    log.warn({ setting: 'GOOGLE_CREDENTIALS_PATH', path: resolve(path) }, 'credentials file does not exist');
};
