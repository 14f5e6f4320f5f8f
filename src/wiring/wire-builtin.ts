import { resolve } from 'node:path';
import type { Logger } from 'pino';
import type { Config } from '../settings/config.ts';
import { type FileAccess, probeFileAccess } from '../tools/builtin/workspace/file-access.ts';
import { createBuiltinTools } from '../tools/groups/builtin-tools.ts';
import type { PageTokens } from '../tools/page-tokens.ts';
import type { ToolFamily, ToolGroup } from '../tools/tool-family.ts';
import { checkToolGroups } from './check-tool-groups.ts';
import type { WiredRedaction } from './wire-redaction.ts';
import { workspaceDirOf } from './workspace-guard.ts';

export type BuiltinParts = {
  readonly version: string;
  readonly log: Logger;
  readonly pageTokens: PageTokens;
  readonly redaction: WiredRedaction;
  /** How the file tools keep to their directories; left out: what this system offers. */
  readonly fileAccess?: FileAccess | undefined;
};

const GROUPS = ['notes', 'shell', 'drive', 'mail', 'calendar', 'slack'] as const satisfies readonly ToolGroup[];

/** The service's own tools, as the settings want them. */
export const wireBuiltin = (config: Config, parts: BuiltinParts): Promise<Required<ToolFamily>> => {
  const { version, log, pageTokens, redaction, fileAccess = probeFileAccess() } = parts;
  const groups = new Set(GROUPS.filter((group) => config.TOOL_GROUPS.includes(group)));
  checkToolGroups(config, groups, log);
  const workspaceDir = workspaceDirOf(config);
  return createBuiltinTools({
    workspaceDir,
    access: fileAccess,
    privateAddresses: config.FETCH_ALLOW_PRIVATE ? 'allow' : 'refuse',
    allowedAddresses: config.FETCH_ALLOW_ADDRESSES,
    userAgent: `recourse/${version}`,
    optional: {
      groups,
      notes: { directory: config.NOTES_DIR },
      shell: {
        workspaceDir: resolve(workspaceDir),
        bwrapPath: config.SHELL_BWRAP_PATH,
        timeoutMs: config.SHELL_TIMEOUT_MS,
        cpuSeconds: config.SHELL_CPU_SECONDS,
        memoryMb: config.SHELL_MEMORY_MB,
        maxProcesses: config.SHELL_MAX_PROCESSES,
        outputBytes: config.SHELL_OUTPUT_BYTES,
        epoll: config.SHELL_EPOLL ? 'allowed' : 'refused',
      },
      google: {
        credentialsPath: config.GOOGLE_CREDENTIALS_PATH,
        subject: config.GOOGLE_SUBJECT,
        apiUrl: config.GOOGLE_API_URL,
      },
      slack: { token: config.SLACK_BOT_TOKEN, apiUrl: config.SLACK_API_URL },
      pageTokens,
      registerSecrets: (values) =>
        void redaction.register(values.map((value) => ({ name: 'GOOGLE_CREDENTIALS_PATH', value }))),
      log,
    },
  });
};
