import { constants, existsSync } from 'node:fs';
import { access, readlink } from 'node:fs/promises';
import { release } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { codeOf, readShortage, showText } from '@recourse/toolkit-kit/http';
import type { ExtensionLog, OpenedTools } from 'recourse-server/extension';
import { openCommandCgroups } from './command-cgroups.ts';
import { createRunShellCommand } from './run-shell-command.ts';
import { type CommandRun, createSandbox, type Sandbox } from './sandbox.ts';
import {
  buildSandboxArgs,
  buildShellArgs,
  KNOWN_VARIABLES,
  MIB,
  type ShellOptions,
  WORDS_OF_ROOT,
} from './sandbox-words.ts';
import { buildSeccompFilter } from './seccomp-filter.ts';
import { findProgram } from './spawn-sandbox.ts';

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

const NAMESPACES = ['pid', 'net', 'ipc', 'uts', 'user', 'mnt', 'cgroup'];
const HIDDEN = ['/etc/shadow', '/root', '/home', '/var', '/run', '/sys', '/boot', '/srv'];
const NOT_WRITABLE = [
  '/',
  '/usr',
  '/usr/bin',
  '/etc',
  '/dev',
  '/bin',
  '/proc/sys/kernel/core_pattern',
  '/proc/sysrq-trigger',
];

// Nothing in it writes: where there is no isolation at all it runs on the host itself.
const QUESTIONS = [
  ...NAMESPACES.map((name) => `echo "ns.${name}=$(readlink /proc/self/ns/${name})"`),
  ...HIDDEN.map((path) => `[ -e ${path} ] && echo "seen=${path}"`),
  ...NOT_WRITABLE.map((path) => `[ -w ${path} ] && echo "writable=${path}"`),
  // To the mode that it has: nothing changes where this succeeds.
  'chmod "$(stat -c %a /dev/null)" /dev/null 2>/dev/null && echo "writable=the modes of /dev/null"',
  'chmod "$(stat -Lc %a /proc/self/fd/0)" /proc/self/fd/0 2>/dev/null && echo "writable=the modes of its stdin"',
  'while read -r name rest; do case $name in *:*) echo "interface=$name";; esac; done </proc/net/dev',
  'while read -r name value; do echo "status.$name$value"; done </proc/self/status',
  `tr '\\0' '\\n' </proc/self/environ | while IFS='=' read -r name rest; do echo "variable=$name"; done`,
  `tr '\\0' '\\n' </proc/1/environ | while IFS='=' read -r name rest; do echo "variable=$name"; done`,
  'unshare -U true 2>/dev/null && echo "nested=user namespace"',
  'echo "cores=$(ulimit -c)"',
  '[ -w /workspace ] && echo workspace=writable',
  'echo "directory=$PWD"',
  'echo end=reached',
].join('\n');

type Facts = ReturnType<typeof parseFacts>;

type SandboxProblem = { readonly reason: string; readonly mayPass: boolean };

const testSandbox = async (sandbox: Sandbox, workspaceDir: string): Promise<SandboxProblem | null> => {
  const { signal } = new AbortController();
  const answered = await sandbox.run(QUESTIONS, { signal, timeoutMs: SELF_TEST_MS });
  const refused = findRefusal('first', answered);
  if (refused !== null) return refused;
  const facts = parseFacts(answered.stdout.text);
  const problems = [
    ...(await findSharedNamespaces(facts)),
    ...findLeaks(facts),
    ...findPowers(facts),
    ...(await findWorkspaceProblem(facts, workspaceDir)),
  ];
  if (problems.length > 0) return lasting(`the sandbox does not isolate commands: ${problems.join('; ')}`);
  return testKill(sandbox);
};

const lasting = (reason: string): SandboxProblem => ({ reason, mayPass: false });
const passing = (reason: string): SandboxProblem => ({ reason, mayPass: true });

const findRefusal = (which: 'first' | 'second', { end, stdout, stderr }: CommandRun): SandboxProblem | null => {
  switch (end.kind) {
    case 'not-started':
      if (readShortage(end.said) !== undefined)
        return passing(`the machine had no resources for a sandbox (${showText(end.said)})`);
      return lasting(
        `bubblewrap cannot create a sandbox here (${showText(end.said)}); in a container it needs user namespaces, see packages/toolkit-shell/README.md`,
      );
    case 'aborted':
    case 'killed':
    case 'lost':
      return passing(`the ${which} command in the sandbox did not ${which === 'first' ? 'end' : 'begin'} in time`);
    case 'exited': {
      if (stdout.text.includes('\nend=reached')) return null;
      const said = showText(stderr.text.trim() || `exit code ${end.exitCode}`);
      const reason = `the ${which} command in the sandbox failed (${said})`;
      return readShortage(said) !== undefined ? passing(reason) : lasting(reason);
    }
  }
};

const parseFacts = (text: string) => {
  const pairs = text.split('\n').map((line) => [line.split('=', 1)[0], line.slice(line.indexOf('=') + 1)] as const);
  const all = (key: string) => pairs.filter(([name]) => name === key).map(([, value]) => value);
  return { all, one: (key: string) => all(key)[0] };
};

const findSharedNamespaces = async (facts: Facts): Promise<readonly string[]> => {
  const own = await Promise.all(NAMESPACES.map((name) => readlink(`/proc/self/ns/${name}`).catch(() => null)));
  const shared = NAMESPACES.filter((name, place) => {
    const inside = facts.one(`ns.${name}`);
    return inside === undefined || !inside.startsWith(`${name}:[`) || inside === own[place];
  });
  return shared.map((name) => `a command shares the ${name} namespace of this service`);
};

const findLeaks = (facts: Facts): readonly string[] => [
  ...facts.all('seen').map((path) => `a command sees ${path}`),
  ...facts.all('writable').map((path) => `a command may write to ${path}`),
  ...facts
    .all('interface')
    .filter((name) => !name.startsWith('lo:'))
    .map((name) => `a command has the network interface ${showText(name)}`),
  ...facts
    .all('variable')
    .filter((name) => !KNOWN_VARIABLES.has(name))
    .map((name) => `a command sees the variable ${showText(name)}`),
];

/** The lines of /proc/self/status, as `status.CapEff:0000000000000000=`. */
const findPowers = (facts: Facts): readonly string[] => {
  const has = (line: string): boolean => facts.one(`status.${line}`) !== undefined;
  return [
    ...(has('CapEff:0000000000000000') && has('CapBnd:0000000000000000') ? [] : ['a command has capabilities']),
    ...(has('NoNewPrivs:1') ? [] : ['a command may gain privileges']),
    ...(has('Seccomp:2') ? [] : ['system calls are not filtered']),
    ...(facts.one('nested') === undefined ? [] : ['a command can create user namespaces']),
    ...(facts.one('cores') === '0' ? [] : ['limits are not set']),
  ];
};

const findWorkspaceProblem = async (facts: Facts, workspaceDir: string): Promise<readonly string[]> => {
  if (facts.one('directory') !== '/workspace') return ['a command does not start in /workspace'];
  const isOurs = await mayAccess(workspaceDir, constants.W_OK);
  return isOurs && facts.one('workspace') === undefined ? ['a command cannot write to the workspace'] : [];
};

/** A command that starts others, and ignores every signal it can, must end when it is told to. */
const testKill = async (sandbox: Sandbox): Promise<SandboxProblem | null> => {
  const stop = new AbortController();
  const late = Promise.withResolvers<null>();
  let giveUp: NodeJS.Timeout | undefined;
  // From its first word on, or a machine under load would be taken for one on which nothing can be killed.
  const onOutput = (): void => {
    giveUp ??= setTimeout(() => late.resolve(null), SELF_TEST_MS);
    stop.abort();
  };
  const run = sandbox.run(KEEPS_ON, { signal: stop.signal, timeoutMs: SELF_TEST_MS, onOutput });
  const ended = await Promise.race([run, late.promise]);
  clearTimeout(giveUp);
  if (ended === null) return passing('a command could not be killed');
  return stop.signal.aborted && ended.end.kind === 'aborted' ? null : findRefusal('second', ended);
};

const KEEPS_ON = "trap '' TERM INT HUP; sleep 60 & echo ready; sleep 60";

/**
 * `run_shell_command`, where a sandbox works on this machine: that is tried first, twice where the machine is too busy.
 * Where none does, the tool is in `unavailable` with the reason, and a warning is logged. Never rejects.
 */
export const createShell = async ({
  log,
  ...limits
}: ShellOptions & { readonly log: ExtensionLog }): Promise<OpenedTools> => {
  const shell = ['/bin/bash', '/usr/bin/bash'].find((path) => existsSync(path)) ?? '/bin/sh';
  const problem = await findProblem(limits, shell);
  const made = problem ?? (await makeSandbox(limits, shell));
  if (!('reason' in made)) {
    const memory = made.limitsMemory ? 'control group' : 'watchdog';
    log.info({ bwrap: limits.bwrapPath, shell, memory_held_by: memory }, 'shell sandbox works');
    if (limits.epoll === 'allowed')
      log.warn(
        { setting: 'SHELL_EPOLL' },
        'commands may use epoll, and can crash this service by exhausting its watches',
      );
    return { tools: [createRunShellCommand({ sandbox: made, limits, shell })], close: made.close };
  }
  const { reason } = made;
  const tool = createRunShellCommand({ sandbox: UNUSABLE, limits, shell });
  log.warn({ tool: tool.name, reason }, 'shell tool not offered');
  return { tools: [], unavailable: [{ facts: tool, reason }], close: UNUSABLE.close };
};

const findProblem = async (limits: ShellOptions, shell: string): Promise<SandboxProblem | null> => {
  const until = performance.now() + TRY_AGAIN_UNTIL_MS;
  for (;;) {
    const sandbox = await makeSandbox({ ...limits, ...SELF_TEST_LIMITS }, shell);
    const problem =
      'reason' in sandbox ? sandbox : await testSandbox(sandbox, limits.workspaceDir).finally(sandbox.close);
    if (problem?.mayPass !== true || performance.now() > until) return problem;
    await wait(TRY_AGAIN_AFTER_MS);
  }
};

const makeSandbox = async (limits: ShellOptions, shell: string): Promise<Sandbox | SandboxProblem> => {
  // First: elsewhere it would be of no use to install what is missing.
  if (!existsSync('/proc/self/ns'))
    return lasting('the sandbox needs Linux namespaces and /proc: run the service in the container');
  const filter = buildSeccompFilter(process.arch, limits.epoll);
  if (filter === null) return lasting(`the sandbox does not support ${process.arch}, only x64 and arm64`);
  const bwrap = await locateProgram(
    limits.bwrapPath,
    `bubblewrap was not found (${limits.bwrapPath}): install the package bubblewrap, or set SHELL_BWRAP_PATH`,
  );
  if (typeof bwrap !== 'string') return bwrap;
  const { words, inputs } = buildSandboxArgs(limits, filter);
  const all = [...words, '--', ...buildShellArgs(limits, shell, countsPerSandbox())];
  if (process.geteuid?.() !== 0) return createSandbox({ limits, program: bwrap, words: all, inputs, cgroups: null });
  const unshare = await locateProgram('unshare', 'the program unshare was not found: install the package util-linux');
  if (typeof unshare !== 'string') return unshare;
  const cgroups = openCommandCgroups({ maxProcesses: limits.maxProcesses, memoryBytes: limits.memoryMb * MIB });
  if (cgroups === null)
    return lasting(
      'the service runs as root and cannot create a control group, without which a command could exhaust all processes: run it as another user',
    );
  return createSandbox({
    ...{ limits, inputs, cgroups },
    program: unshare,
    words: [...WORDS_OF_ROOT, bwrap, ...all],
  });
};

const locateProgram = async (name: string, missing: string): Promise<string | SandboxProblem> => {
  const found = await findProgram(name).catch((thrown: unknown) =>
    passing(`the search for its programs could not be started (${codeOf(thrown)})`),
  );
  return found ?? lasting(missing);
};

const mayAccess = (path: string, mode: number): Promise<boolean> =>
  access(path, mode).then(
    () => true,
    () => false,
  );

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
