import { existsSync } from 'node:fs';
import { release } from 'node:os';
import type { FamilyLog, ShellOptions, ToolFamily } from '../../tool-family.ts';
import { openProcessCgroups } from './process-cgroups.ts';
import { createRunShellCommand } from './run-shell-command.ts';
import { createSandbox, type Sandbox } from './sandbox.ts';
import { toSandboxWords, toShellWords, WORDS_OF_ROOT } from './sandbox-words.ts';
import { toSeccompFilter } from './seccomp-filter.ts';
import { testSandbox } from './self-test.ts';
import { findProgram } from './spawn-sandbox.ts';

// A sandbox is made in some 10 ms; a machine under full load takes longer. Both commands of the test get half.
const SELF_TEST_MS = 5_000;
// Whatever the settings allow a command: the test must be able to run.
const SELF_TEST_LIMITS = {
  timeoutMs: SELF_TEST_MS,
  cpuSeconds: 5,
  memoryMb: 128,
  maxProcesses: 64,
  outputBytes: 65_536,
};

/**
 * `run_shell_command`, where a sandbox works on this machine: that is tried first, within ten seconds. Where none does,
 * the tool is in `unavailable` with the reason, and a warning is logged. Never rejects.
 */
export const createShell = async ({
  log,
  ...limits
}: ShellOptions & { readonly log: FamilyLog }): Promise<ToolFamily> => {
  const shell = ['/bin/bash', '/usr/bin/bash'].find((path) => existsSync(path)) ?? '/bin/sh';
  const made = await makeSandbox(limits, shell);
  const sandbox = typeof made === 'string' ? UNUSABLE : made;
  const tool = createRunShellCommand({ sandbox, limits, shell });
  const reason = typeof made === 'string' ? made : await findReason(limits, shell);
  if (reason === null) {
    log.info({ bwrap: limits.bwrapPath, shell }, 'shell sandbox works');
    return { tools: [tool], close: sandbox.close };
  }
  log.warn({ tool: tool.name, reason }, 'shell tool not offered');
  return { tools: [], unavailable: [{ facts: tool, reason }], close: sandbox.close };
};

/** Why the sandbox cannot be used; null where it can. */
const findReason = async (limits: ShellOptions, shell: string): Promise<string | null> => {
  const sandbox = await makeSandbox({ ...limits, ...SELF_TEST_LIMITS }, shell);
  if (typeof sandbox === 'string') return sandbox;
  return testSandbox({ sandbox, workspaceDir: limits.workspaceDir, timeoutMs: SELF_TEST_MS }).finally(sandbox.close);
};

const makeSandbox = async (limits: ShellOptions, shell: string): Promise<Sandbox | string> => {
  const filter = toSeccompFilter(process.arch);
  if (filter === null) return `the sandbox is not made for ${process.arch}: it knows x64 and arm64`;
  const program = await findProgram(limits.bwrapPath);
  if (program === null)
    return `bubblewrap was not found (${limits.bwrapPath}): install the package bubblewrap, or set SHELL_BWRAP_PATH`;
  const { words, inputs } = toSandboxWords(limits, filter);
  const all = [...words, '--', ...toShellWords(limits, shell, countsPerSandbox())];
  if (process.geteuid?.() !== 0) return createSandbox({ limits, program, words: all, inputs, cgroups: null });
  const unshare = await findProgram('unshare');
  if (unshare === null) return 'the program unshare was not found: install the package util-linux';
  const cgroups = openProcessCgroups(limits.maxProcesses);
  if (cgroups === null)
    return 'this service is root and may make no control group for processes, without which a command could take all of them: run it as another user';
  return createSandbox({ limits, program: unshare, words: [...WORDS_OF_ROOT, program, ...all], inputs, cgroups });
};

/** From Linux 5.14 on RLIMIT_NPROC counts in each user namespace; before, all processes of a user count together. */
const countsPerSandbox = (): boolean => {
  const [major = 0, minor = 0] = release().split('.').map(Number);
  return major > 5 || (major === 5 && minor >= 14);
};

const UNUSABLE: Sandbox = {
  run: () => Promise.reject(new Error('There is no sandbox.')),
  close: async () => undefined,
};
