import { afterAll, beforeAll, expect, test } from 'vitest';
import { canLimitMemory, type ShellLab, startShellLab, stdoutOf } from '#test/shell-lab.ts';

// Where no control group can be made a watchdog sums what processes show: what follows is not bounded there.
const HAS_GROUP = canLimitMemory();

let lab: ShellLab;
beforeAll(async () => {
  lab = await startShellLab({ SHELL_MEMORY_MB: '64', SHELL_TIMEOUT_MS: '20000' });
});
afterAll(() => lab.stop());

const KILLED = {
  outcome: 'retry',
  executed: 'yes',
  message:
    'Command killed: its processes used more than 64 MiB of memory. What it did before that remains done. Work on less data at once; files in /tmp and /dev/shm count as memory.',
  value: { exit_code: null, killed_by: 'memory' },
};

test('how the memory of commands is held is said at start', () => {
  const line = lab.service.logLines().find(({ msg }) => msg === 'shell sandbox works');
  expect(line).toMatchObject({ memory_held_by: HAS_GROUP ? 'control group' : 'watchdog' });
});

// Numbers of read, mmap and madvise. A shared page stays when no process has it in its tables any more.
const [READ, MMAP, MADVISE] = process.arch === 'x64' ? [0, 9, 28] : [63, 222, 233];
const SHARED = `perl -e 'open Z, "<", "/dev/zero"; for (1 .. 40) { my $at = syscall(${MMAP}, 0, 4_194_304, 3, 0x21, -1, 0);
  for (0 .. 3) { syscall(${READ}, fileno(Z), $at + $_ * 1_048_576, 1_048_576) } syscall(${MADVISE}, $at, 4_194_304, 4) }
  print "had it all\\n"; sleep 100'`;

// Of each pair one end is filled, and nobody reads the other.
const PAIRS = `perl -MSocket -MFcntl -e 'for (1 .. 220) { socketpair(my $to, my $from, AF_UNIX, SOCK_STREAM, 0) or last;
  setsockopt($to, SOL_SOCKET, SO_SNDBUF, 4_000_000); fcntl($to, F_SETFL, O_NONBLOCK);
  1 while syswrite($to, "x" x 65_536); push @kept, $to, $from } print "had it all\\n"; sleep 100'`;

test.runIf(HAS_GROUP).each([
  ['shared memory that was mapped and let go', SHARED],
  ['filled sockets', PAIRS],
  ['files in /tmp and /dev/shm', 'for d in /tmp /dev/shm; do head -c 64M /dev/zero >$d/x; done; exec tail /dev/zero'],
])('memory that no process shows as its own is bounded: %s', async (_what, command) => {
  const result = await lab.run(command);
  expect(result).toMatchObject(KILLED);
  expect(stdoutOf(result)).toBe('');
  expect(lab.processes()).toEqual([]);
});

test.runIf(HAS_GROUP)(
  'a command goes as a whole, whatever would go on without the process that was ended',
  async () => {
    const waits = await lab.run(`${SHARED} || true; sleep 10; echo went on`);
    expect(waits).toMatchObject(KILLED);
    expect(stdoutOf(waits)).toBe('');
    // Most of these are over before the watchdog looks.
    const quick = await Promise.all(Array.from({ length: 8 }, () => lab.run(`${SHARED}; exit 0`)));
    for (const result of quick) expect(result).toMatchObject(KILLED);
  },
);

const TCP = `perl -MIO::Socket::INET -MFcntl -e '$l = IO::Socket::INET->new(Listen => 128, LocalAddr => "127.0.0.1", LocalPort => 7000);
  for (1 .. 200) { my $to = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => 7000) or last; push @kept, $to, $l->accept;
  fcntl($to, F_SETFL, O_NONBLOCK); while ($n = syswrite($to, "x" x 65_536)) { $sum += $n } } print $sum'`;

const UDP = `perl -MSocket -MFcntl -e 'socket($from, AF_INET, SOCK_DGRAM, 0); fcntl($from, F_SETFL, O_NONBLOCK);
  for (1 .. 200) { socket(my $to, AF_INET, SOCK_DGRAM, 0); bind($to, pack_sockaddr_in(0, INADDR_LOOPBACK)); push @kept, $to;
    setsockopt($to, SOL_SOCKET, SO_RCVBUF, 8_000_000); for (1 .. 100) { send($from, "x" x 30_000, 0, getsockname($to)) } }
  for $to (@kept) { fcntl($to, F_SETFL, O_NONBLOCK); while (defined recv($to, $got, 65_536, 0)) { $sum += length $got } } print $sum'`;

// Without a limit: more than 700 and 400 MB.
test.runIf(HAS_GROUP).each([
  ['TCP', TCP],
  ['UDP', UDP],
])('what waits in %s sockets is bounded', async (_what, command) => {
  const result = await lab.run(command);
  if (!result.success) expect(result).toMatchObject(KILLED);
  else expect(Number(stdoutOf(result))).toBeLessThan(120_000_000);
});

test('what waits in netlink sockets, which no group counts, is seen by the watchdog', async () => {
  const netlink = `perl -MSocket -MFcntl -e 'for (1 .. 400) { socket(my $to, 16, SOCK_DGRAM, 2); bind($to, pack("SSLL", 16, 0, 0, 0));
    socket(my $from, 16, SOCK_DGRAM, 2); fcntl($from, F_SETFL, O_NONBLOCK); setsockopt($to, SOL_SOCKET, SO_RCVBUF, 4_000_000);
    for (1 .. 50) { send($from, pack("LSSLL", 30_000, 16, 0, 1, 0) . "x" x 29_984, 0, getsockname($to)) or last }
    push @kept, $to } sleep 100'`;
  expect(await lab.run(netlink)).toMatchObject(KILLED);
});

test('a command may write more to the workspace, and read it, than it may have memory', async () => {
  expect(stdoutOf(await lab.run('head -c 200M /dev/zero >big && wc -c <big; rm big'))).toBe('209715200\n');
});
