import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ShellLab, startShellLab, stdoutOf } from '#test/shell-lab.ts';

let lab: ShellLab;
beforeAll(async () => {
  lab = await startShellLab({
    SHELL_TIMEOUT_MS: '12000',
    SHELL_CPU_SECONDS: '1',
    SHELL_MEMORY_MB: '192',
    SHELL_MAX_PROCESSES: '24',
  });
});
afterAll(() => lab.stop());

const DONE = 'What it did before that remains done.';

test('a command that is too slow is killed, and says what it wrote until then', async () => {
  const short = await startShellLab({ SHELL_TIMEOUT_MS: '1500' });
  try {
    for (const command of ['echo begun; sleep 1000', "echo begun; trap '' TERM INT HUP; while :; do sleep 1; done"])
      expect(await short.run(command)).toMatchObject({
        outcome: 'retry',
        executed: 'yes',
        message: `Command killed: it ran longer than 1.5 s. ${DONE} Do less in one command.`,
        value: { exit_code: null, killed_by: 'time', stdout: 'begun\n' },
      });
  } finally {
    await short.stop();
  }
});

test.each([
  ['what its batch has', { deadline_ms: 3_000 }, {}, 'it ran longer than 2.'],
  ['what its call may have', {}, { MAX_DEADLINE_MS: '4000' }, 'it ran longer than 3.'],
])(
  'a command gets no more time than %s left, and says what it wrote until then',
  async (_what, envelope, settings, why) => {
    const short = await startShellLab(settings);
    try {
      const call = { name: 'run_shell_command', arguments: { command: 'echo begun; sleep 1000' } };
      const [result] = await short.service.call([call], envelope);
      expect(result).toMatchObject({
        outcome: 'retry',
        executed: 'yes',
        value: { killed_by: 'time', stdout: 'begun\n' },
      });
      expect(result?.message).toContain(`Command killed: ${why}`);
    } finally {
      await short.stop();
    }
  },
);

test('a process that computes too long is ended by the kernel', async () => {
  expect(await lab.run('while :; do :; done')).toMatchObject({
    outcome: 'retry',
    message: `Command killed: it used more than 1 s of processor time. ${DONE} Do less in one command.`,
    value: { killed_by: 'cpu' },
  });
  // One that does not listen to the first signal gets SIGKILL a second later.
  expect(await lab.run("trap '' XCPU; while :; do :; done")).toMatchObject({
    outcome: 'retry',
    value: { exit_code: 137 },
  });
});

test('one process cannot take more memory than all may', async () => {
  expect(await lab.run('tail /dev/zero')).toMatchObject({
    outcome: 'retry',
    // Its own limit ends it, or the one of all processes, which are counted beside it.
    message: expect.stringMatching(
      /^Command (?:failed: tail: memory exhausted \(exit code 1\)\.|killed: its processes used more than 192 MiB of memory\.)/,
    ),
  });
});

test('processes that together take too much memory are killed', async () => {
  const hog = `perl -e '$x = "x" x 70_000_000; sleep 30'`;
  expect(await lab.run(`for n in 1 2 3 4; do ${hog} & done; wait`)).toMatchObject({
    outcome: 'retry',
    executed: 'yes',
    message: `Command killed: its processes used more than 192 MiB of memory. ${DONE} Work on less data at once; files in /tmp and /dev/shm count as memory.`,
    value: { killed_by: 'memory' },
  });
});

test('memory that processes share after a fork counts once', async () => {
  const family = `perl -e '$x = "x" x 70_000_000; for (1 .. 4) { fork or do { sleep 1; exit } } wait for 1 .. 4; print "fine"'`;
  expect(stdoutOf(await lab.run(family))).toBe('fine');
});

test('memory that no process shows cannot be had', async () => {
  expect(stdoutOf(await lab.run(`perl -e 'print shmget(0, 1_000_000, 0600) // "no: $!"'`))).toBe(
    'no: Operation not permitted',
  );
  expect(
    stdoutOf(
      await lab.run(`perl -e '$name = "x"; print syscall(${process.arch === 'x64' ? 319 : 279}, $name, 0), " $!"'`),
    ),
  ).toBe('-1 Operation not permitted');
});

test.each([
  ':(){ :|:& };:; sleep 100',
  'f() { f & f & }; f; sleep 100',
  'while :; do sleep 100 & done',
  'perl -e "fork while 1"',
])('the fork bomb %s is contained', async (bomb) => {
  const began = performance.now();
  const result = await lab.run(bomb);
  expect(result).toMatchObject({ outcome: 'retry', executed: 'yes' });
  // As root the watchdog ends it. For anyone else the kernel refuses further processes, and the shell may give up first.
  if (process.geteuid?.() === 0)
    expect(result).toMatchObject({
      message: `Command killed: it had more than 24 processes and threads at once. ${DONE} Start fewer at the same time.`,
      value: { killed_by: 'processes' },
    });
  expect(performance.now() - began).toBeLessThan(timeLimit(10_000));
  expect(lab.processes()).toEqual([]);
});

test.each([
  ['yes', 'stdout'],
  ['yes >&2', 'stderr'],
  ['cat /dev/zero', 'stdout'],
  ['yes & yes >&2 & wait', 'stdout'],
])('the flood of %s is cut off, and the service does not grow with it', async (command, stream) => {
  const before = process.memoryUsage.rss();
  const result = await lab.run(command);
  expect(result).toMatchObject({
    outcome: 'retry',
    message: `Command killed: it wrote more than 16 MiB of output. ${DONE} Write to a file, or select lines with head, tail or grep.`,
    value: { killed_by: 'output', [`${stream}_truncated`]: true },
  });
  expect(JSON.stringify(result).length).toBeLessThan(1_000_000);
  expect(process.memoryUsage.rss() - before).toBeLessThan(200_000_000);
});

test('a file has its bounds, and so have /tmp and /dev/shm', async () => {
  expect(await lab.run('truncate -s 300M big')).toMatchObject({
    message: `Command killed: it wrote a file of more than 256 MiB. ${DONE} Write smaller files.`,
    value: { killed_by: 'file_size' },
  });
  const filled = await lab.run(
    'for d in /tmp /dev/shm; do head -c 100M /dev/zero >$d/x; stat -c %s $d/x; done; echo x >/tmp/y',
  );
  expect(filled.message).toContain('No space left on device');
  expect(stdoutOf(filled)).toBe('67108864\n16777216\n');
  expect(stdoutOf(await lab.run('ls -A /tmp /dev/shm'))).toBe('/dev/shm:\n\n/tmp:\n');
});

test('files in memory are counted too: empty ones cost memory of the kernel', async () => {
  const patient = await startShellLab({ SHELL_TIMEOUT_MS: '25000' });
  try {
    expect(
      await patient.run(
        'perl -e \'for (1 .. 1e7) { open F, ">", ($_ <= 60_000 ? "/tmp/" : "/dev/shm/") . $_ or die }\'',
      ),
    ).toMatchObject({
      outcome: 'retry',
      message: `Command killed: it created more than 100000 files in /tmp and /dev/shm. ${DONE} Create them in /workspace.`,
      value: { killed_by: 'files_in_memory' },
    });
  } finally {
    await patient.stop();
  }
});

test('open files and core dumps have their bounds', async () => {
  expect(stdoutOf(await lab.run('ulimit -n; ulimit -c; ulimit -t'))).toBe('512\n0\n1\n');
});

test('ordinary programs work under these limits', async () => {
  const commands = [
    'seq 1 100000 | sort -rn | head -1',
    'tar cf - /usr/bin/env | gzip | wc -c >/dev/null; echo 100000',
    `for n in $(seq 1 8); do (sleep 0.2; echo $n) & done; wait; echo 100000`,
  ];
  for (const command of commands) expect(stdoutOf(await lab.run(command))).toMatch(/100000\n$/);
});
