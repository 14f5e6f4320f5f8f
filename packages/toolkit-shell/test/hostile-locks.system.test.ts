import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ShellLab, startShellLab, stdoutOf } from '#test/shell-lab.ts';

let lab: ShellLab;
beforeAll(async () => {
  lab = await startShellLab({ SHELL_TIMEOUT_MS: '20000' });
});
afterAll(() => lab.stop());

// `struct flock` of a 64-bit machine; 6 is F_SETLK, 37 F_OFD_SETLK. Each locks a byte that no other lock touches.
const LOCK = 'sub lock_at { fcntl($file, $_[0], pack("ssx4qqlx4", 1, 0, 2 * $_[1], 1, 0)) }';
const lockMany = (count: number, then: string): string =>
  `perl -e 'open $file, "+>", "/tmp/$$"; ${LOCK} for (1 .. ${count}) { lock_at(6, $_) or die "lock: $!" } ${then}'`;

const KILLED = {
  outcome: 'retry',
  executed: 'yes',
  message:
    'Command killed: it held more than 2000 file locks at once, which use memory. What it did before that remains done. Lock whole files, or fewer parts of them.',
  value: { exit_code: null, killed_by: 'memory' },
};

test('a command that takes more locks than any program needs is ended, and no other', async () => {
  const other = lab.run(lockMany(1_500, 'sleep 3; print "still here"'));
  expect(await lab.run(lockMany(30_000, 'sleep 100'))).toMatchObject(KILLED);
  const end = await other;
  expect(stdoutOf(end), JSON.stringify(end)).toBe('still here');
});

test('locks that the processes of a command hold together count together', async () => {
  const three = Array.from({ length: 3 }, () => lockMany(900, 'sleep 100'));
  expect(await lab.run(`${three.join(' & ')} & wait`)).toMatchObject(KILLED);
});

test('locks cannot be taken that are shown without their process', async () => {
  const ofNobody = `perl -e 'open $file, "+>", "/tmp/locked"; ${LOCK} print lock_at(37, 0) ? "locked" : "$!"'`;
  expect(stdoutOf(await lab.run(ofNobody))).toBe('Operation not permitted');
  // A process with the open files of another (CLONE_FILES, SIGCHLD): what it locked would stay when it has ended.
  const clone = process.arch === 'x64' ? 56 : 220;
  const sharing = `perl -e '$pid = syscall(${clone}, 0x411, 0, 0, 0, 0); exit if $pid == 0; print $pid > 0 ? "shared" : "$!"'`;
  expect(stdoutOf(await lab.run(sharing))).toBe('Operation not permitted');
});

test('what programs do with locks and threads works', async () => {
  const work = [
    'flock /tmp/a echo locked',
    `perl -e 'open $f, ">", "/tmp/b"; print flock($f, 2) ? "flock\\n" : $!; $t = pack("ssx4qqlx4", 1, 0, 0, 0, 0); print fcntl($f, 6, $t) ? "fcntl\\n" : $!'`,
    `perl -Mthreads -e 'print threads->create(sub { "thread\\n" })->join'`,
  ];
  expect(stdoutOf(await lab.run(work.join('; ')))).toBe('locked\nflock\nfcntl\nthread\n');
});

test('there are no terminals to be had, of which the machine has one number in all', async () => {
  const opened = `perl -e 'print open(my $file, "+<", "/dev/ptmx") ? "opened" : "$!"'`;
  expect(stdoutOf(await lab.run(opened))).toBe('No such file or directory');
  expect(
    stdoutOf(await lab.run('ls -A /dev/pts | wc -l; echo x | tee /dev/null | cat; head -c 1 /dev/urandom | wc -c')),
  ).toBe('0\nx\n1\n');
});
