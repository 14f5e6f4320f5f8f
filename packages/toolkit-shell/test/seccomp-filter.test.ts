import { expect, test } from 'vitest';
import { buildSeccompFilter } from '#src/seccomp-filter.ts';

type Call = { readonly machine: number; readonly call: number; readonly arguments?: readonly number[] };

const VERDICTS: Readonly<Record<number, string>> = {
  2147418112: 'allowed',
  2147483648: 'killed',
  327681: 'EPERM',
  327718: 'ENOSYS',
  327777: 'EAFNOSUPPORT',
};

const CONDITIONS: ReadonlyMap<number, (loaded: number, operand: number) => boolean> = new Map([
  [0x15, (loaded, operand) => loaded === operand],
  [0x35, (loaded, operand) => loaded >= operand],
  [0x45, (loaded, operand) => (loaded & operand) !== 0],
]);

/** What the kernel would make of a call: classic BPF over `struct seccomp_data`, both halves of an argument. */
const judge = (filter: Buffer, call: Call): string => {
  const data = toData(call);
  let loaded = 0;
  for (let at = 0; at < filter.length; at += 8) {
    const code = filter.readUInt16LE(at);
    const operand = filter.readUInt32LE(at + 4);
    if (code === 0x06) return VERDICTS[operand] ?? operand.toString(16);
    if (code === 0x20) loaded = data.readUInt32LE(operand);
    else at += 8 * filter.readUInt8(at + (isTrue(code, loaded, operand) ? 2 : 3));
  }
  throw new Error('The program has no end.');
};

const toData = ({ machine, call, arguments: given = [] }: Call): Buffer => {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(call, 0);
  data.writeUInt32LE(machine, 4);
  for (const [place, value] of given.entries()) data.writeBigUInt64LE(BigInt(value), 16 + place * 8);
  return data;
};

const isTrue = (code: number, loaded: number, operand: number): boolean => {
  const condition = CONDITIONS.get(code);
  if (condition === undefined) throw new Error(`There is no instruction ${code}.`);
  return condition(loaded, operand);
};

const X64 = 0xc000003e;
const ARM64 = 0xc00000b7;

// One line for each call: name, number on x64, number on arm64, arguments, verdict. null: that machine has no such call.
type Line = readonly [string, number | null, number | null, readonly number[], string];
const refused = (name: string, x64: number | null, arm64: number | null): Line => [name, x64, arm64, [], 'EPERM'];

const LINES: readonly Line[] = [
  ['read', 0, 63, [], 'allowed'],
  ['execve', 59, 221, [], 'allowed'],
  ['clone', 56, 220, [], 'allowed'],
  ['clone of a thread', 56, 220, [0x3d0f00], 'allowed'],
  ['clone of a process that shares memory', 56, 220, [0x4111], 'allowed'],
  ['clone of a process that shares open files', 56, 220, [0x411], 'EPERM'],
  ['clone3', 435, 435, [], 'ENOSYS'],
  ['semop', 65, 193, [], 'allowed'],
  ['prctl', 157, 167, [], 'allowed'],
  ['mmap', 9, 222, [], 'allowed'],
  refused('memfd_create', 319, 279),
  refused('memfd_secret', 447, 447),
  refused('shmget', 29, 194),
  refused('semget', 64, 190),
  refused('msgget', 68, 186),
  refused('keyctl', 250, 219),
  refused('add_key', 248, 217),
  refused('request_key', 249, 218),
  refused('bpf', 321, 280),
  refused('perf_event_open', 298, 241),
  refused('userfaultfd', 323, 282),
  refused('ptrace', 101, 117),
  refused('process_vm_readv', 310, 270),
  refused('process_vm_writev', 311, 271),
  refused('syslog', 103, 116),
  refused('mount', 165, 40),
  refused('umount2', 166, 39),
  refused('pivot_root', 155, 41),
  refused('chroot', 161, 51),
  refused('setns', 308, 268),
  refused('unshare', 272, 97),
  refused('quotactl', 179, 60),
  refused('acct', 163, 89),
  refused('swapon', 167, 224),
  refused('open_by_handle_at', 304, 265),
  refused('fanotify_init', 300, 262),
  refused('modify_ldt', 154, null),
  refused('io_uring_setup', 425, 425),
  refused('open_tree', 428, 428),
  refused('move_mount', 429, 429),
  refused('fsopen', 430, 430),
  refused('fsconfig', 431, 431),
  refused('fsmount', 432, 432),
  refused('fspick', 433, 433),
  refused('mount_setattr', 442, 442),
  ['openat2', 437, 437, [], 'ENOSYS'],
  ['io_setup', 206, 0, [], 'ENOSYS'],
  ['inotify_init', 253, null, [], 'ENOSYS'],
  ['inotify_init1', 294, 26, [], 'ENOSYS'],
  ['epoll_create', 213, null, [], 'ENOSYS'],
  ['epoll_create1', 291, 20, [], 'ENOSYS'],
  ['mq_open', 240, 180, [], 'ENOSYS'],
  ['fcntl F_GETFL', 72, 25, [3, 3], 'allowed'],
  ['fcntl F_GETLEASE', 72, 25, [3, 1025], 'allowed'],
  ['fcntl F_SETLK', 72, 25, [3, 6], 'allowed'],
  ['fcntl F_OFD_SETLK', 72, 25, [3, 37], 'EPERM'],
  ['fcntl F_OFD_SETLKW', 72, 25, [3, 38], 'EPERM'],
  ['fcntl F_SETLEASE', 72, 25, [3, 1024, 1], 'EPERM'],
  ['fcntl F_SETDELEG', 72, 25, [3, 1039, 0], 'EPERM'],
  ['open 0644', 2, null, [0, 65, 0o644], 'allowed'],
  ['open setuid', 2, null, [0, 65, 0o4755], 'EPERM'],
  ['openat 0644', 257, 56, [0, 0, 65, 0o644], 'allowed'],
  ['openat setgid', 257, 56, [0, 0, 65, 0o2755], 'EPERM'],
  ['creat setuid', 85, null, [0, 0o4755], 'EPERM'],
  ['chmod 0755', 90, null, [0, 0o755], 'allowed'],
  ['chmod setuid', 90, null, [0, 0o4755], 'EPERM'],
  ['fchmod sticky', 91, 52, [3, 0o1777], 'allowed'],
  ['fchmod setuid', 91, 52, [3, 0o4755], 'EPERM'],
  ['fchmodat setgid', 268, 53, [0, 0, 0o2755], 'EPERM'],
  ['fchmodat2 0755', 452, 452, [0, 0, 0o755, 0], 'allowed'],
  ['fchmodat2 setuid', 452, 452, [0, 0, 0o4755, 0], 'EPERM'],
  ['mknod setuid', 133, null, [0, 0o4755], 'EPERM'],
  ['mknodat setuid', 259, 33, [0, 0, 0o4755], 'EPERM'],
  ['socket UNIX', 41, 198, [1], 'allowed'],
  ['socket INET6', 41, 198, [10], 'allowed'],
  ['socket NETLINK', 41, 198, [16], 'allowed'],
  ['socket PACKET', 41, 198, [17], 'EAFNOSUPPORT'],
  ['socket VSOCK', 41, 198, [40], 'EAFNOSUPPORT'],
  ['socketpair UNIX', 53, 199, [1], 'allowed'],
  ['socketpair VSOCK', 53, 199, [40], 'EAFNOSUPPORT'],
];

const filterOf = (architecture: string, epoll: 'refused' | 'allowed' = 'refused'): Buffer => {
  const filter = buildSeccompFilter(architecture, epoll);
  if (filter === null) throw new Error('There is no filter.');
  return filter;
};

test.each(LINES)('%s', (_name, x64, arm64, given, verdict) => {
  if (x64 !== null) expect(judge(filterOf('x64'), { machine: X64, call: x64, arguments: given })).toBe(verdict);
  if (arm64 !== null) expect(judge(filterOf('arm64'), { machine: ARM64, call: arm64, arguments: given })).toBe(verdict);
});

test('epoll can be allowed, and nothing else with it', () => {
  for (const [call, verdict] of [
    [213, 'allowed'],
    [291, 'allowed'],
    [240, 'ENOSYS'],
    [294, 'ENOSYS'],
  ] as const)
    expect(judge(filterOf('x64', 'allowed'), { machine: X64, call })).toBe(verdict);
  expect(judge(filterOf('arm64', 'allowed'), { machine: ARM64, call: 20 })).toBe('allowed');
});

test('calls of another machine, and of 32 bit, end the process', () => {
  expect(judge(filterOf('x64'), { machine: 0x40000003, call: 1 })).toBe('killed');
  expect(judge(filterOf('x64'), { machine: ARM64, call: 63 })).toBe('killed');
  expect(judge(filterOf('arm64'), { machine: 0x40000028, call: 3 })).toBe('killed');
  expect(judge(filterOf('arm64'), { machine: X64, call: 0 })).toBe('killed');
});

test('the x32 calls of x64 are said to be missing, whatever they are', () => {
  for (const call of [0x40000000, 0x40000000 + 425, 0x40000000 + 547])
    expect(judge(filterOf('x64'), { machine: X64, call })).toBe('ENOSYS');
});

test('what else has the bits of a mode is allowed', () => {
  expect(judge(filterOf('x64'), { machine: X64, call: 1, arguments: [1, 0o4755, 0o4755, 0o4755] })).toBe('allowed');
});

test('a machine whose calls are not known has no filter', () => {
  expect(buildSeccompFilter('riscv64', 'refused')).toBeNull();
});
