import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { ToolResult } from '#src/contract/tool-result.ts';
import { type RunningService, startService } from '#test/support/start-service.ts';

/** Brings a tool of the whole service into the situation of a row and gives what it answers there. */
export type Arrangement = (lab: AuditLab) => Promise<ToolResult>;

/** Row name → how to get there. */
export type Arrangements = Readonly<Record<string, Arrangement>>;

export type AuditLab = {
  /** A service with every group of tools and nothing else set up; the same for all. */
  readonly bare: () => Promise<RunningService>;
  /** A service with these settings, which ends with the test. */
  readonly serve: (settings: Readonly<Record<string, string>>) => Promise<RunningService>;
  /** A directory with these files, which ends with the test. */
  readonly directory: (files: Readonly<Record<string, string | Uint8Array>>) => Promise<string>;
  readonly close: () => Promise<void>;
};

export const ALL_GROUPS = 'notes,shell,drive,mail,calendar,slack';

// Each row has its own service or shares one with others: no breaker may remember one row for the next.
const SETTINGS = {
  TOOL_GROUPS: ALL_GROUPS,
  CIRCUIT_FAILURES: '0',
  LOG_LEVEL: 'silent',
  // No row of another tool waits until the sandbox has been tried out.
  SHELL_BWRAP_PATH: '/nowhere/bwrap',
};

export const createAuditLab = (): AuditLab => {
  let bare: Promise<RunningService> | undefined;
  return {
    bare: () => (bare ??= startService(SETTINGS)),
    serve: async (settings) => {
      const service = await startService({ ...SETTINGS, ...settings });
      onTestFinished(() => service.stop());
      return service;
    },
    directory: async (files) => {
      const root = await mkdtemp(join(tmpdir(), 'recourse-audit-'));
      onTestFinished(() => rm(root, { recursive: true, force: true }));
      for (const [path, content] of Object.entries(files)) {
        await mkdir(dirname(join(root, path)), { recursive: true });
        await writeFile(join(root, path), content);
      }
      return root;
    },
    close: async () => (await bare)?.stop(),
  };
};

/** The one result of one call. */
export const callOnce = async (
  service: Pick<RunningService, 'call'>,
  name: string,
  args: Readonly<Record<string, unknown>>,
  envelope: Readonly<Record<string, unknown>> = {},
): Promise<ToolResult> => {
  const [result] = await service.call([{ name, arguments: args }], envelope);
  if (result === undefined) throw new Error('There is no result.');
  return result;
};
