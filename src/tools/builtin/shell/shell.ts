import { existsSync } from 'node:fs';
import { release } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import type { FamilyLog, ShellOptions, ToolFamily } from '../../tool-family.ts';
import { openCommandCgroups } from './command-cgroups.ts';
import { createRunShellCommand } from './run-shell-command.ts';
import { createSandbox, type Sandbox } from './sandbox.ts';
import { MIB, toSandboxWords, toShellWords, WORDS_OF_ROOT } from './sandbox-words.ts';
import { toSeccompFilter } from './seccomp-filter.ts';
import { type SandboxProblem, testSandbox } from './self-test.ts';
import { type FoundProgram, findProgram } from './spawn-sandbox.ts';

// A sandbox is made in some 10 ms; a machine under full load takes longer. Each of the test's two commands gets as much.
const SELF_TEST_MS = 5_000;
// What failed because the machine was busy may be tried again, until this time has passed.
const TRY_AGAIN_UNTIL_MS = 8_000;
const TRY_AGAIN_AFTER_MS = 500;
// Whatever the settings allow a command: the test must be able to run.
const SELF_TEST_LIMITS = {
  timeoutMs: SELF_TEST_MS,
  cpuSeconds: 5,
  memoryMb: 128,
  maxProcesses: 64,
  outputBytes: 65_536,
};

/**
 * `run_shell_command`, where a sandbox works on this machine: that is tried first, twice where the machine is too busy.
 * Where none does, the tool is in `unavailable` with the reason, and a warning is logged. Never rejects.
 */
export const createShell = async ({
  log,
  ...limits
}: ShellOptions & { readonly log: FamilyLog }): Promise<ToolFamily> => {
  const shell = ['/bin/bash', '/usr/bin/bash'].find((path) => existsSync(path)) ?? '/bin/sh';
  const problem = await findProblem(limits, shell);
  const made = problem ?? (await makeSandbox(limits, shell));
  if (!('reason' in made)) {
    const memory = made.limitsMemory ? 'control group' : 'watchdog';
    log.info({ bwrap: limits.bwrapPath, shell, memory_held_by: memory }, 'shell sandbox works');
    if (limits.epoll === 'allowed')
      log.warn({ setting: 'SHELL_EPOLL' }, 'commands may use epoll, and can end this service by using up its watches');
    return { tools: [createRunShellCommand({ sandbox: made, limits, shell })], close: made.close };
  }
  const { reason } = made;
  const tool = createRunShellCommand({ sandbox: UNUSABLE, limits, shell });
  log.warn({ tool: tool.name, reason }, 'shell tool not offered');
  return { tools: [], unavailable: [{ facts: tool, reason }], close: UNUSABLE.close };
};

/** Why the sandbox cannot be used; null where it can. */
const findProblem = async (limits: ShellOptions, shell: string): Promise<SandboxProblem | null> => {
  const began = performance.now();
  for (;;) {
    const problem = await tryOnce(limits, shell);
    if (problem?.mayPass !== true || performance.now() - began > TRY_AGAIN_UNTIL_MS) return problem;
    await wait(TRY_AGAIN_AFTER_MS);
  }
};

const tryOnce = async (limits: ShellOptions, shell: string): Promise<SandboxProblem | null> => {
  const sandbox = await makeSandbox({ ...limits, ...SELF_TEST_LIMITS }, shell);
  if ('reason' in sandbox) return sandbox;
  return testSandbox({ sandbox, workspaceDir: limits.workspaceDir, timeoutMs: SELF_TEST_MS }).finally(sandbox.close);
};

const makeSandbox = async (limits: ShellOptions, shell: string): Promise<Sandbox | SandboxProblem> => {
  // First: elsewhere it would be of no use to install what is missing.
  if (!existsSync('/proc/self/ns'))
    return lasting(
      'the sandbox is made of namespaces of Linux, and /proc must be there: run the service in the container',
    );
  const filter = toSeccompFilter(process.arch, limits.epoll);
  if (filter === null) return lasting(`the sandbox is not made for ${process.arch}: it knows x64 and arm64`);
  const bwrap = await findProgram(limits.bwrapPath);
  if (bwrap.kind !== 'found')
    return toMissing(
      bwrap,
      `bubblewrap was not found (${limits.bwrapPath}): install the package bubblewrap, or set SHELL_BWRAP_PATH`,
    );
  const { words, inputs } = toSandboxWords(limits, filter);
  const all = [...words, '--', ...toShellWords(limits, shell, countsPerSandbox())];
  if (process.geteuid?.() !== 0)
    return createSandbox({ limits, program: bwrap.path, words: all, inputs, cgroups: null });
  const unshare = await findProgram('unshare');
  if (unshare.kind !== 'found')
    return toMissing(unshare, 'the program unshare was not found: install the package util-linux');
  const cgroups = openCommandCgroups({ maxProcesses: limits.maxProcesses, memoryBytes: limits.memoryMb * MIB });
  if (cgroups === null)
    return lasting(
      'this service is root and may make no control group for processes, without which a command could take all of them: run it as another user',
    );
  return createSandbox({
    ...{ limits, inputs, cgroups },
    program: unshare.path,
    words: [...WORDS_OF_ROOT, bwrap.path, ...all],
  });
};

const lasting = (reason: string): SandboxProblem => ({ reason, mayPass: false });

const toMissing = (found: Exclude<FoundProgram, { readonly kind: 'found' }>, reason: string): SandboxProblem =>
  found.kind === 'missing'
    ? lasting(reason)
    : { reason: `no program could be started to look for others (${found.said})`, mayPass: true };

/** From Linux 5.14 on RLIMIT_NPROC counts in each user namespace; before, all processes of a user count together. */
const countsPerSandbox = (): boolean => {
  const [major = 0, minor = 0] = release().split('.').map(Number);
  return major > 5 || (major === 5 && minor >= 14);
};

const UNUSABLE: Sandbox = {
  limitsMemory: false,
  run: () => Promise.reject(new Error('There is no sandbox.')),
  close: async () => undefined,
};
