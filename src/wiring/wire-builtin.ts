import type { PageTokens, ToolkitHost, ToolkitTools } from '@recourse/toolkit-kit/toolkit';
import { type FileAccess, probeFileAccess } from '@recourse/toolkit-kit/workspace/workspace';
import type { Logger } from 'pino';
import type { Config } from '../config/settings/config.ts';
import { checkToolGroups } from '../config/warn-idle-settings.ts';
import { workspaceDirOf } from '../config/workspace-guard.ts';
import { TOOLKITS } from '../toolkits/toolkits.ts';
import type { WiredRedaction } from './wire-redaction.ts';

export type BuiltinParts = {
  readonly version: string;
  readonly log: Logger;
  readonly pageTokens: PageTokens;
  readonly redaction: WiredRedaction;
  /** How the file tools keep to their directories; left out: what this system offers. */
  readonly fileAccess?: FileAccess | undefined;
};

/** The tools of all toolkits that are always offered, and of those that TOOL_GROUPS names. */
export const wireBuiltin = async (config: Config, parts: BuiltinParts): Promise<Required<ToolkitTools>> => {
  const { version, log, pageTokens, redaction, fileAccess = probeFileAccess() } = parts;
  checkToolGroups(config, log);
  const host: ToolkitHost = {
    log,
    groups: new Set(config.TOOL_GROUPS),
    pageTokens,
    registerSecrets: (name, values) => void redaction.register(values.map((value) => ({ name, value }))),
    workspaceDir: workspaceDirOf(config),
    fileAccess,
    userAgent: `recourse/${version}`,
  };
  const created: ToolkitTools[] = [];
  for (const toolkit of TOOLKITS) {
    const groups = Object.keys(toolkit.groups);
    if (groups.length === 0 || groups.some((group) => host.groups.has(group)))
      created.push(await toolkit.create(config, host));
  }
  return {
    tools: created.flatMap(({ tools }) => tools),
    unavailable: created.flatMap(({ unavailable = [] }) => unavailable),
    close: () => Promise.all(created.map(({ close }) => close())).then(() => undefined),
  };
};
