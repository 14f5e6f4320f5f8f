/** Whether commands may make epoll instances; with them a command can end the service. */
export type EpollUse = 'refused' | 'allowed';

/** One instruction of classic BPF: operation, jump where true, jump where false, operand (`linux/filter.h`). */
type Instruction = readonly [code: number, whenTrue: number, whenFalse: number, operand: number];

const LOAD = 0x20;
const JUMP_EQUAL = 0x15;
const JUMP_AT_LEAST = 0x35;
const JUMP_ANY_BIT = 0x45;
const RETURN = 0x06;
const INSTRUCTION_BYTES = 8;

// Places in `struct seccomp_data`; both machines are little-endian, so an argument's low half comes first.
const AT_NUMBER = 0;
const AT_MACHINE = 4;
const AT_FIRST_ARGUMENT = 16;
const ARGUMENT_BYTES = 8;

const ALLOW = 0x7fff0000;
const KILL_PROCESS = 0x80000000;
const REFUSE = 0x00050000;
const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;
const X32_CALLS = 0x40000000;

type Machine = {
  readonly audit: number;
  /** Calls of another ABI of the same machine that go by higher numbers. */
  readonly foreignFrom: number | null;
  readonly sockets: readonly number[];
  readonly refused: readonly number[];
  /** Calls that the kernel is said not to have: programs do without. */
  readonly missing: readonly number[];
  /** epoll_create and epoll_create1. */
  readonly epoll: readonly number[];
  readonly fcntl: number;
  readonly clone: number;
  /** Which argument is the mode of a file, and of which calls. */
  readonly modes: readonly (readonly [argument: number, calls: readonly number[]])[];
};

// S_ISUID and S_ISGID: where this service is root, a program so marked would lie in the workspace as root's.
const SET_ID_BITS = 0o6000;
// openat2 takes its mode where no filter sees it. Programs that know it fall back to openat.
const OPENAT2 = 437;
// F_SETLEASE and F_SETDELEG: where this service is root, a command owns what lies in /usr, and with a lease on a program
// everybody who starts that waits.
const LEASES = [1024, 1039];
// F_OFD_SETLK and F_OFD_SETLKW: locks that belong to no process. No control group counts locks, and of these nobody could
// say whose they are.
const LOCKS_OF_NOBODY = [37, 38];
// Two processes that share their open files and are no threads of one: locks outlive the process that is shown with them.
const CLONE_FILES = 0x400;
const CLONE_THREAD = 0x10000;
// It takes its flags where no filter sees them. Programs that know it fall back to clone.
const CLONE3 = 435;

// The same numbers on every machine: io_uring_setup, open_tree, move_mount, fsopen, fsconfig, fsmount, fspick,
// mount_setattr, memfd_secret.
const REFUSED_EVERYWHERE = [425, 428, 429, 430, 431, 432, 433, 442, 447];

// In this order: memfd_create, shmget and semget (memory that no process shows), msgget, keyctl, add_key, request_key (key rings
// are not in a namespace), bpf, perf_event_open, userfaultfd, ptrace, syslog, mount, umount2, pivot_root, chroot, setns,
// unshare, quotactl, acct, swapon, open_by_handle_at, fanotify_init, process_vm_readv, process_vm_writev. Said to be missing:
// io_setup, inotify_init, inotify_init1, mq_open, for which the machine has one number in all, or one for each user.
const MACHINES: ReadonlyMap<string, Machine> = new Map([
  [
    'x64',
    {
      audit: 0xc000003e,
      foreignFrom: X32_CALLS,
      sockets: [41, 53],
      refused: [
        ...[
          319, 29, 64, 68, 250, 248, 249, 321, 298, 323, 101, 103, 165, 166, 155, 161, 308, 272, 179, 163, 167, 304,
          300,
        ],
        ...[310, 311],
        // modify_ldt, which this machine alone has.
        154,
      ],
      missing: [206, 253, 294, 240],
      epoll: [213, 291],
      fcntl: 72,
      clone: 56,
      // creat, chmod, fchmod, mknod; open, mknodat, fchmodat, fchmodat2; openat.
      modes: [
        [1, [85, 90, 91, 133]],
        [2, [2, 259, 268, 452]],
        [3, [257]],
      ],
    },
  ],
  [
    'arm64',
    {
      audit: 0xc00000b7,
      foreignFrom: null,
      sockets: [198, 199],
      refused: [
        ...[279, 194, 190, 186, 219, 217, 218, 280, 241, 282, 117, 116, 40, 39, 41, 51, 268, 97, 60, 89, 224, 265, 262],
        ...[270, 271],
      ],
      missing: [0, 26, 180],
      epoll: [20],
      fcntl: 25,
      clone: 220,
      // fchmod; mknodat, fchmodat, fchmodat2; openat.
      modes: [
        [1, [52]],
        [2, [33, 53, 452]],
        [3, [56]],
      ],
    },
  ],
]);

// UNIX, INET, INET6, NETLINK. A VSOCK socket would reach the host of a virtual machine through any network namespace.
const SOCKET_FAMILIES = [1, 2, 10, 16];

/**
 * The system calls that a command may not make, as bubblewrap's `--seccomp` takes them; null for a machine whose call
 * numbers are not known here. Calls of another ABI (32 bit, x32) are refused as a whole. Epoll is said to be missing unless it
 * is allowed: the kernel counts its watches for each user, and libuv aborts the service when there are none left. A limit on
 * open files does not bound them, for a watch is an epoll instance, a file and any descriptor that the file once had.
 */
export const buildSeccompFilter = (architecture: string, epoll: EpollUse): Buffer | null => {
  const machine = MACHINES.get(architecture);
  if (machine === undefined) return null;
  const missing = epoll === 'allowed' ? machine.missing : [...machine.missing, ...machine.epoll];
  return assemble(buildProgram({ ...machine, missing }));
};

const buildProgram = ({ audit, foreignFrom, sockets, ...calls }: Machine): readonly Instruction[] => [
  [LOAD, 0, 0, AT_MACHINE],
  [JUMP_EQUAL, 1, 0, audit],
  [RETURN, 0, 0, KILL_PROCESS],
  [LOAD, 0, 0, AT_NUMBER],
  ...(foreignFrom === null ? [] : refuseWhen(JUMP_AT_LEAST, foreignFrom, ENOSYS)),
  ...[...calls.refused, ...REFUSED_EVERYWHERE].flatMap((call) => refuseWhen(JUMP_EQUAL, call, EPERM)),
  ...[...calls.missing, OPENAT2, CLONE3].flatMap((call) => refuseWhen(JUMP_EQUAL, call, ENOSYS)),
  ...refuseArgument([calls.fcntl, 1], JUMP_EQUAL, [...LEASES, ...LOCKS_OF_NOBODY]),
  ...refuseSharedFiles(calls.clone),
  ...calls.modes.flatMap(([argument, numbers]) =>
    numbers.flatMap((call) => refuseArgument([call, argument], JUMP_ANY_BIT, [SET_ID_BITS])),
  ),
  ...sockets.map((call, place): Instruction => [JUMP_EQUAL, sockets.length - place, 0, call]),
  [RETURN, 0, 0, ALLOW],
  [LOAD, 0, 0, AT_FIRST_ARGUMENT],
  ...SOCKET_FAMILIES.map((family, place): Instruction => [JUMP_EQUAL, SOCKET_FAMILIES.length - place, 0, family]),
  [RETURN, 0, 0, REFUSE + EAFNOSUPPORT],
  [RETURN, 0, 0, ALLOW],
];

const refuseWhen = (jump: number, operand: number, errno: number): readonly Instruction[] => [
  [jump, 0, 1, operand],
  [RETURN, 0, 0, REFUSE + errno],
];

type Argument = readonly [call: number, argument: number];

/** Of this call, one whose argument is any of these (or, for JUMP_ANY_BIT, has a bit of them). All other uses are allowed. */
const refuseArgument = (
  [call, argument]: Argument,
  jump: number,
  operands: readonly number[],
): readonly Instruction[] => [
  [JUMP_EQUAL, 0, 2 + 2 * operands.length, call],
  [LOAD, 0, 0, AT_FIRST_ARGUMENT + argument * ARGUMENT_BYTES],
  ...operands.flatMap((operand) => refuseWhen(jump, operand, EPERM)),
  [RETURN, 0, 0, ALLOW],
];

/** A new process that shares open files with the one that starts it, unless it is a thread of it. */
const refuseSharedFiles = (clone: number): readonly Instruction[] => [
  [JUMP_EQUAL, 0, 5, clone],
  [LOAD, 0, 0, AT_FIRST_ARGUMENT],
  [JUMP_ANY_BIT, 2, 0, CLONE_THREAD],
  [JUMP_ANY_BIT, 0, 1, CLONE_FILES],
  [RETURN, 0, 0, REFUSE + EPERM],
  [RETURN, 0, 0, ALLOW],
];

const assemble = (program: readonly Instruction[]): Buffer => {
  const bytes = Buffer.alloc(program.length * INSTRUCTION_BYTES);
  for (const [place, [code, whenTrue, whenFalse, operand]] of program.entries()) {
    const at = place * INSTRUCTION_BYTES;
    bytes.writeUInt16LE(code, at);
    bytes.writeUInt8(whenTrue, at + 2);
    bytes.writeUInt8(whenFalse, at + 3);
    bytes.writeUInt32LE(operand, at + 4);
  }
  return bytes;
};
