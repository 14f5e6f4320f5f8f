import { resolve } from 'node:path';
import { defineExtension, flag, MAX_TIMER_MS, whole } from 'recourse-server/extension';
import * as z from 'zod';

/** `run_shell_command`: commands in a sandbox of bubblewrap. */
export const extension = defineExtension({
  name: 'shell',
  groups: {
    shell: {
      title: 'Shell',
    },
  },
  settings: {
    SHELL_BWRAP_PATH: z
      .string()
      .default('bwrap')
      .describe('The bubblewrap program of the shell tool; a name is looked up in PATH.'),
    SHELL_TIMEOUT_MS: whole(30_000, 100, MAX_TIMER_MS).describe(
      'Time for one command of the shell tool, in milliseconds.',
    ),
    SHELL_CPU_SECONDS: whole(30, 1, 86_400).describe('Processor time that each process of a command gets, in seconds.'),
    SHELL_MEMORY_MB: whole(512, 16, 65_536).describe('Memory of all processes of one command together, in MiB.'),
    SHELL_MAX_PROCESSES: whole(64, 4, 10_000).describe('Concurrent processes and threads of one command.'),
    SHELL_OUTPUT_BYTES: whole(65_536, 1024, 131_072).describe(
      'Bytes of stdout, and of stderr, that a command returns; more is cut in the middle.',
    ),
    SHELL_EPOLL: flag(false).describe(
      'Allow commands to use epoll, which Node.js, npm and Go need. A command can then crash the service: see packages/toolkit-shell/src/README.md.',
    ),
  },
  purposes: { SHELL_BWRAP_PATH: { path: 'program' } },
  serviceSettings: ['WORKSPACE_DIR'],
  open: async (settings, { workspaceDir, log }) =>
    (await import('./shell-tools.ts')).createShell({
      workspaceDir: resolve(workspaceDir),
      bwrapPath: settings.SHELL_BWRAP_PATH,
      timeoutMs: settings.SHELL_TIMEOUT_MS,
      cpuSeconds: settings.SHELL_CPU_SECONDS,
      memoryMb: settings.SHELL_MEMORY_MB,
      maxProcesses: settings.SHELL_MAX_PROCESSES,
      outputBytes: settings.SHELL_OUTPUT_BYTES,
      epoll: settings.SHELL_EPOLL ? 'allowed' : 'refused',
      log,
    }),
});
