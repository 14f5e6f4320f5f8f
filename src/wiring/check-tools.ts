import { pino } from 'pino';
import { createIsolation } from '../isolation/create-isolation.ts';
import { isAllowedName } from '../isolation/host-environment.ts';
import type { IsolationObserver } from '../isolation/isolation-observer.ts';
import type { Config } from '../settings/config.ts';
import { type CheckedDirectory, checkDirectory } from '../tools/directory/check-directory.ts';
import { createInlineLoader } from '../tools/directory/load-inline-tools.ts';
import { createBuiltinReducers } from '../tools/groups/builtin-reducers.ts';
import type { PageTokens } from '../tools/page-tokens.ts';
import { chooseProcesses } from './choose-processes.ts';
import { readMachine, toHostLimits } from './host-limits.ts';
import { wireBuiltin } from './wire-builtin.ts';
import { wireRedaction } from './wire-redaction.ts';
import { PUBLIC_API } from './wire-tools.ts';

type Environment = Readonly<Record<string, string | undefined>>;

// Nobody calls a tool here: a file is loaded, and what it does beside that is not told.
const SILENT: IsolationObserver = {
  hostEnded: () => undefined,
  messageDropped: () => undefined,
  strayThrown: () => undefined,
  hostUnfit: () => undefined,
  fileOffended: () => undefined,
  lineWritten: () => undefined,
  hostObtained: () => undefined,
};

const NO_PAGES: PageTokens = { find: async () => null, keep: async () => undefined };

/** Loads a tools directory as a service of these settings does, without serving. Rejects with one sentence for people. */
export const checkTools = async (
  directory: string,
  config: Config,
  environment: Environment,
): Promise<CheckedDirectory> => {
  const log = pino({ level: 'silent' });
  const redaction = wireRedaction(config, environment);
  const builtin = await wireBuiltin(config, { version: 'check', log, redaction, pageTokens: NO_PAGES });
  const { max, memoryMb } = toHostLimits(config, readMachine());
  const isolation = createIsolation({
    minHosts: 0,
    maxHosts: max,
    maxCalls: config.TOOL_HOST_MAX_CALLS,
    memoryMb,
    maxResultBytes: config.MAX_RESULT_BYTES,
    permissions: config.TOOLS_PERMISSIONS,
    sharedVariables: config.TOOLS_ENV,
    allowedVariables: config.TOOLS_ENV_ALLOW,
    ownTools: config.TOOL_HOSTS_OWN,
    environment,
    processes: chooseProcesses(log),
    now: () => performance.now(),
    observer: SILENT,
  });
  try {
    return await checkDirectory(directory, {
      hosts: isolation.hosts,
      taken: [...builtin.tools, ...createBuiltinReducers()],
      inline: { allowed: new Set(config.TOOLS_INLINE), load: createInlineLoader({ api: PUBLIC_API }) },
      isAllowed: (name) => isAllowedName(name, config.TOOLS_ENV_ALLOW),
    });
  } finally {
    await Promise.all([isolation.close(), builtin.close()]);
  }
};
