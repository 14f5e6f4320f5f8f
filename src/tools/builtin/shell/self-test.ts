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

type Facts = { readonly one: (key: string) => string | undefined; readonly all: (key: string) => readonly string[] };

/** Runs commands in the sandbox and looks whether it holds. Gives one sentence on what does not, or null where all does. */
export const testSandbox = async ({ sandbox, workspaceDir, timeoutMs }: SelfTestOptions): Promise<string | null> => {
  const asked = await sandbox.run(QUESTIONS, AbortSignal.timeout(timeoutMs));
  const refused = toRefusal(asked);
  if (refused !== null) return refused;
  const facts = toFacts(asked.stdout.text);
  const problems = [
    ...(await findSharedNamespaces(facts)),
    ...findLeaks(facts),
    ...findPowers(facts),
    ...(await findWorkspaceProblem(facts, workspaceDir)),
  ];
  if (problems.length > 0) return `the sandbox does not hold: ${problems.join('; ')}`;
  return testKill(sandbox, timeoutMs);
};

const toRefusal = ({ end, stdout, stderr }: CommandRun): string | null => {
  switch (end.kind) {
    case 'not-started':
      return `bubblewrap cannot make a sandbox here (${showText(end.said)}); in a container it needs user namespaces, see docs/shell-tool.md`;
    case 'aborted':
    case 'killed':
    case 'lost':
      return 'the first command in the sandbox did not end in time';
    case 'exited': {
      if (stdout.text.includes('\nend=reached')) return null;
      const said = showText(stderr.text.trim() || `exit code ${end.exitCode}`);
      return `the first command in the sandbox failed (${said})`;
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
const testKill = async (sandbox: Sandbox, timeoutMs: number): Promise<string | null> => {
  const told = new AbortController();
  const late = AbortSignal.timeout(timeoutMs);
  const run = sandbox.run("trap '' TERM INT HUP; sleep 60 & echo ready; sleep 60", told.signal, () => told.abort());
  const giveUp = Promise.withResolvers<null>();
  late.addEventListener('abort', () => giveUp.resolve(null), { once: true });
  const ended = await Promise.race([run, giveUp.promise]);
  return ended?.end.kind === 'aborted' ? null : 'a command could not be killed';
};
