import { constants } from 'node:fs';
import { access, readlink } from 'node:fs/promises';
import { showText } from '../../http/show-url.ts';
import type { CommandRun, Sandbox } from './sandbox.ts';
import { KNOWN_VARIABLES } from './sandbox-words.ts';

export type SelfTestOptions = { readonly sandbox: Sandbox; readonly workspaceDir: string; readonly timeoutMs: number };

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

// Of spawn, and of the programs that make the sandbox.
const NO_RESOURCES = /EAGAIN|ENOMEM|Resource temporarily unavailable|Cannot allocate memory|Cannot fork/;

type Facts = { readonly one: (key: string) => string | undefined; readonly all: (key: string) => readonly string[] };

/** Why a sandbox is not used, in one sentence, and whether a later attempt may find it better. */
export type SandboxProblem = { readonly reason: string; readonly mayPass: boolean };

/** Runs commands in the sandbox and looks whether it holds. Null where it does. */
export const testSandbox = async (options: SelfTestOptions): Promise<SandboxProblem | null> => {
  const { sandbox, workspaceDir, timeoutMs } = options;
  const asked = await sandbox.run(QUESTIONS, { signal: new AbortController().signal, timeoutMs });
  const refused = toRefusal('first', asked);
  if (refused !== null) return refused;
  const facts = toFacts(asked.stdout.text);
  const problems = [
    ...(await findSharedNamespaces(facts)),
    ...findLeaks(facts),
    ...findPowers(facts),
    ...(await findWorkspaceProblem(facts, workspaceDir)),
  ];
  if (problems.length > 0) return lasting(`the sandbox does not hold: ${problems.join('; ')}`);
  return testKill(sandbox, timeoutMs);
};

const lasting = (reason: string): SandboxProblem => ({ reason, mayPass: false });
const passing = (reason: string): SandboxProblem => ({ reason, mayPass: true });

const toRefusal = (which: 'first' | 'second', { end, stdout, stderr }: CommandRun): SandboxProblem | null => {
  switch (end.kind) {
    case 'not-started':
      if (NO_RESOURCES.test(end.said)) return passing(`the machine had no room for a sandbox (${showText(end.said)})`);
      return lasting(
        `bubblewrap cannot make a sandbox here (${showText(end.said)}); in a container it needs user namespaces, see docs/shell-tool.md`,
      );
    case 'aborted':
    case 'killed':
    case 'lost':
      return passing(`the ${which} command in the sandbox did not ${which === 'first' ? 'end' : 'begin'} in time`);
    case 'exited': {
      if (stdout.text.includes('\nend=reached')) return null;
      const said = showText(stderr.text.trim() || `exit code ${end.exitCode}`);
      const reason = `the ${which} command in the sandbox failed (${said})`;
      return NO_RESOURCES.test(said) ? passing(reason) : lasting(reason);
    }
  }
};

const toFacts = (text: string): Facts => {
  const pairs = text.split('\n').map((line) => [line.split('=', 1)[0], line.slice(line.indexOf('=') + 1)] as const);
  const all = (key: string) => pairs.filter(([name]) => name === key).map(([, value]) => value);
  return { all, one: (key) => all(key)[0] };
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
    ...(facts.one('nested') === undefined ? [] : ['a command can make user namespaces']),
    ...(facts.one('cores') === '0' ? [] : ['limits are not set']),
  ];
};

const findWorkspaceProblem = async (facts: Facts, workspaceDir: string): Promise<readonly string[]> => {
  if (facts.one('directory') !== '/workspace') return ['a command does not start in /workspace'];
  const isOurs = await access(workspaceDir, constants.W_OK).then(
    () => true,
    () => false,
  );
  return isOurs && facts.one('workspace') === undefined ? ['a command cannot write to the workspace'] : [];
};

/** A command that starts others, and ignores every signal it can, must end when it is told to. */
const testKill = async (sandbox: Sandbox, timeoutMs: number): Promise<SandboxProblem | null> => {
  const told = new AbortController();
  const late = Promise.withResolvers<null>();
  let giveUp: NodeJS.Timeout | undefined;
  // From its first word on, or a machine under load would be taken for one on which nothing can be killed.
  const onOutput = (): void => {
    giveUp ??= setTimeout(() => late.resolve(null), timeoutMs);
    told.abort();
  };
  const run = sandbox.run(KEEPS_ON, { signal: told.signal, timeoutMs, onOutput });
  const ended = await Promise.race([run, late.promise]);
  clearTimeout(giveUp);
  if (ended === null) return passing('a command could not be killed');
  return told.signal.aborted && ended.end.kind === 'aborted' ? null : toRefusal('second', ended);
};

const KEEPS_ON = "trap '' TERM INT HUP; sleep 60 & echo ready; sleep 60";
