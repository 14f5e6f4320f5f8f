import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { FROM_SOURCES } from '@recourse/test-support/node-flags.ts';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type ShellLab, startShellLab, stdoutOf } from '#test/shell-lab.ts';

let lab: ShellLab;
beforeAll(async () => {
  lab = await startShellLab({ OPENAI_API_KEY: 'sk-not-for-commands' });
});
afterAll(() => lab.stop());

const outputOf = async (command: string): Promise<string> => stdoutOf(await lab.run(`{ ${command}\n} 2>&1; true`));

test.each([
  '; rm -rf /usr/bin/env /etc/passwd /workspace/../secret.txt',
  'true; rm -rf --no-preserve-root /usr /etc /bin /proc /dev',
  'echo $(rm -rf /usr/bin/env)',
  'echo `rm -rf /usr/bin/env`',
  'sudo rm -rf /usr || su -c "rm -rf /usr"',
])('%s removes nothing of the machine', async (command) => {
  expect((await lab.run(command)).outcome).toMatch(/^(success|retry)$/);
  expect([existsSync('/usr/bin/env'), existsSync('/etc/passwd'), existsSync(join(lab.base, 'secret.txt'))]).toEqual([
    true,
    true,
    true,
  ]);
});

test("no command changes the machine's own /dev/null, also not through a file that it was given", async () => {
  const before = statSync('/dev/null').ctimeMs;
  // To the mode that it has: nothing is lost where this succeeds.
  const mode = (statSync('/dev/null').mode & 0o777).toString(8);
  for (const path of ['/dev/null', '/proc/self/fd/0', '/proc/1/fd/0', '/proc/1/fd/2'])
    expect(await outputOf(`chmod ${mode} ${path} && echo changed`), path).not.toContain('changed');
  expect(
    await outputOf(
      `perl -e 'chmod(0${mode}, *STDIN) and print "changed"; utime(undef, undef, *STDIN) and print "changed"'`,
    ),
  ).toBe('');
  expect(statSync('/dev/null').ctimeMs).toBe(before);
  expect(await outputOf('cat; echo end')).toBe('end\n');
});

const sysCall = (words: string): string => `perl -e 'print syscall(${words}) == -1 ? "$!" : "done"'`;
const [fcntl, semget, ioSetup, readMemory] = process.arch === 'x64' ? [72, 64, 206, 310] : [25, 190, 0, 270];

test.each([
  [
    'a lease on a program, for which everybody waits who starts it',
    `open F, "<", "/usr/bin/env"; print fcntl(F, 1024, 1) // $!`,
    'Operation not permitted',
  ],
  ['a delegation', `open F, "<", "/usr/bin/env"; print fcntl(F, 1039, 1) // $!`, 'Operation not permitted'],
])('no command gets %s', async (_what, code, said) => {
  expect(await outputOf(`perl -e '${code}'`)).toBe(said);
});

test.each([
  [`${fcntl}, 1, 1, 0`, 'done'],
  [`${semget}, 0, 10, 0600`, 'Operation not permitted'],
  [`${ioSetup}, 1, 0`, 'Function not implemented'],
  [`${readMemory}, 1, 0, 0, 0, 0, 0`, 'Operation not permitted'],
])('the system call %s: %s', async (words, said) => {
  expect(await outputOf(sysCall(words))).toBe(said);
});

test('a command is in a session of its own, whatever terminal the service has', async () => {
  expect(await outputOf("cut -d' ' -f6 /proc/1/stat")).toBe('1\n');
});

test('the first process of a sandbox has the limits that all have', async () => {
  const limits = await outputOf('cat /proc/1/limits; echo; cat /proc/self/limits');
  const [first = '', own = ''] = limits.split('\n\n').map((text) => text.trim());
  expect(first).toContain('Max open files            512');
  expect(first).toBe(own);
});

test('the environment holds nothing of the service', async () => {
  const names = (await outputOf('env'))
    .trim()
    .split('\n')
    .map((line) => line.split('=')[0]);
  expect(names.toSorted()).toEqual(['HOME', 'LANG', 'PATH', 'PWD', 'SHLVL', 'TERM', 'TMPDIR', '_']);
  expect(await outputOf("cat /proc/1/environ /proc/*/environ | tr '\\0' '\\n'")).not.toContain('sk-not-for-commands');
});

test('nothing leads to the network, not to a listener on this machine either', async () => {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  const { port } = await new Promise<AddressInfo>((resolve) =>
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      if (typeof address === 'object' && address !== null) resolve(address);
    }),
  );
  onTestFinished(() => void server.close());
  expect(await outputOf(`echo x >/dev/tcp/127.0.0.1/${port}`)).toContain('Connection refused');
  expect(await outputOf(`curl -sS -m 2 http://127.0.0.1:${port}/ http://1.1.1.1/ || echo no`)).toContain('no');
  expect(await outputOf('echo x >/dev/udp/1.1.1.1/53')).toContain('Network is unreachable');
  expect(await outputOf('cat /proc/net/dev | tail -n +3 | cut -d: -f1 | tr -d " "')).toBe('lo\n');
  expect(connections).toBe(0);
});

test('sockets of families that know no network namespace cannot be made', async () => {
  const families =
    'for $f (1, 2, 10, 16, 40, 38) { print socket(S, $f, $f == 16 ? 3 : $f == 38 ? 5 : 1, 0) ? "$f yes\n" : "$f no\n" }';
  expect(await outputOf(`perl -e '${families}'`)).toBe('1 yes\n2 yes\n10 yes\n16 yes\n40 no\n38 no\n');
});

test.each([
  '/etc/shadow',
  '/root',
  '/home',
  '/var',
  '/run',
  '/sys',
  '/boot',
  '/dev/sda',
  '/dev/vda',
  '/dev/mem',
  '/dev/kmsg',
  '/run/docker.sock',
])('there is no %s', async (path) => {
  expect(await outputOf(`ls -la ${path}`)).toContain('No such file or directory');
});

test('users, groups and hosts are its own', async () => {
  expect(await outputOf('cat /etc/passwd /etc/group; id')).toBe(
    'sandbox:x:1000:1000::/tmp:/bin/sh\nsandbox:x:1000:\nuid=1000(sandbox) gid=1000(sandbox) groups=1000(sandbox)\n',
  );
});

test('the system cannot be written to, and what belongs to the user of the service neither', async () => {
  const paths = ['/x', '/usr/bin/x', '/usr/x', '/etc/x', '/dev/x', '/bin/x', '/proc/x'];
  for (const path of paths)
    expect(await outputOf(`: >${path}`)).toMatch(/Read-only file system|Permission denied|No such/);
  const before = statSync('/dev/null').mode;
  expect(await outputOf('chmod 600 /dev/null; chmod 600 /dev/zero; touch /dev/full')).toContain(
    'Read-only file system',
  );
  expect(statSync('/dev/null').mode).toBe(before);
  const kernel = [
    '/proc/sys/kernel/hostname',
    '/proc/sys/vm/overcommit_memory',
    '/proc/sysrq-trigger',
    '/proc/1/oom_score_adj',
  ];
  for (const path of kernel) expect(await outputOf(`[ -w ${path} ] && echo writable`)).toBe('');
  expect(await outputOf('echo x >/dev/null; head -c 3 /dev/zero | wc -c')).toBe('3\n');
});

test('no program of the workspace gets the rights of its owner', async () => {
  const command = 'cp /usr/bin/id mine; chmod 4755 mine; chmod g+s mine; chmod 755 mine';
  expect(await outputOf(command)).toMatch(/(.*Operation not permitted\n){2}/);
  await outputOf(`perl -e 'use Fcntl; sysopen(F, "made", O_CREAT | O_WRONLY, 06755)'`);
  expect(statSync(join(lab.root, 'mine')).mode & 0o7777).toBe(0o755);
  expect(existsSync(join(lab.root, 'made'))).toBe(false);
});

test('processes outside cannot be seen, signalled or traced', async () => {
  expect(await outputOf('ls /proc | grep -c "^[0-9]"')).toMatch(/^[1-9]\n$/);
  expect(await outputOf(`kill -9 ${process.pid}; kill -0 ${process.ppid}`)).toMatch(/(.*No such process\n){2}/);
  expect(await outputOf('kill -9 1; kill -9 -1; echo here')).toContain('here\n');
  expect(
    await outputOf(
      `perl -e 'print syscall(${process.arch === 'x64' ? 101 : 117}, 16, 1, 0, 0) == -1 ? "refused: $!" : "traced"'`,
    ),
  ).toMatch(/^refused/);
  expect(await outputOf('cat /proc/1/root/etc/shadow; ls /proc/1/root/home; ls /proc/1/cwd/..')).not.toContain(
    'secret.txt',
  );
});

test('namespaces, mounts and roots cannot be changed', async () => {
  for (const command of [
    'unshare -U true',
    'unshare -n true',
    'mount -t tmpfs x /tmp',
    'umount /proc',
    'chroot / true',
    'bwrap --ro-bind / / true',
    'nsenter -t 1 -n true',
    'mknod x b 8 0',
    'dmesg',
  ])
    expect(await outputOf(`${command} && echo done`)).not.toContain('done');
});

test('links and dots lead out of the workspace nowhere', async () => {
  symlinkSync(join(lab.base, 'secret.txt'), join(lab.root, 'link.txt'));
  symlinkSync('../secret.txt', join(lab.root, 'dots.txt'));
  symlinkSync(lab.base, join(lab.root, 'directory'));
  mkdirSync(join(lab.root, 'sub'));
  const paths = [
    'link.txt',
    'dots.txt',
    'directory/secret.txt',
    '../secret.txt',
    `${lab.base}/secret.txt`,
    '/proc/self/cwd/../secret.txt',
  ];
  for (const path of paths) expect(await outputOf(`cat ${path}`)).toContain('No such file or directory');
  expect(await outputOf('echo owned >link.txt; echo owned >dots.txt')).toContain('No such file or directory');
  expect(readFileSync(join(lab.base, 'secret.txt'), 'utf8')).toBe('the secret');
});

test('sockets of the machine that lie outside of the workspace are not there', async () => {
  const server = createServer((socket) => socket.destroy());
  const path = join(lab.base, 'service.sock');
  await new Promise<void>((resolve) => server.listen(path, resolve));
  onTestFinished(() => void server.close());
  const connect = `perl -MIO::Socket::UNIX -e 'print IO::Socket::UNIX->new(Peer => "${path}") ? "in" : "$!"'`;
  expect(await outputOf(connect)).toBe('No such file or directory');
});

test('no file that the service, or its starter, has open is open in a command', async () => {
  const secret = join(lab.base, 'open.txt');
  writeFileSync(secret, 'open secret');
  // A starter that leaves descriptor 7 and 23 open, as a careless supervisor does.
  const entry = join(import.meta.dirname, './run-one-command.ts');
  const args = [...FROM_SOURCES, entry, lab.root];
  const child = spawn('bash', ['-c', 'exec 7<"$1" 23<"$1"; shift; exec node "$@"', 'bash', secret, ...args], {
    env: { PATH: process.env['PATH'] },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => void chunks.push(chunk));
  await once(child, 'close');
  const text = Buffer.concat(chunks).toString();
  expect(text).toContain('descriptors: 0 1 2 3\n');
  expect(text).not.toContain('open.txt');
});

test('stdin is empty', async () => {
  expect(await outputOf('cat; read -r line || echo nothing; readlink /proc/self/fd/0')).toBe('nothing\n/dev/null\n');
});
