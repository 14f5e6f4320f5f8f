import { readGroupFile, writeGroupFile } from './control-group.ts';
import { MIB } from './sandbox-words.ts';

/** Why the kernel ended processes of a group: its own limit, or one further out (of a container, of the machine). */
export type MemoryEnd = 'memory' | 'memory outside';

// What makes the sandbox, its namespaces, its filter and the stacks of its processes are the kernel's memory and count in
// the group: some 5 MiB. Above the command's own part, so that a process that is refused more can still say so itself.
const ROOM_BYTES = 32 * MIB;
// Version 1 counts what waits in TCP and UDP sockets apart from all other memory. A command has nobody but itself to talk to.
const SOCKET_BYTES = 32 * MIB;

/**
 * Lets a group have so much memory and a little more, swap included; false where it cannot be limited. Version 2 counts
 * files in memory, pipes, sockets and page tables with it; version 1 does so since Linux 4.5, but for TCP and UDP sockets,
 * which get a limit of their own. Sources: cgroup-v2.rst, cgroup-v1/memory.rst.
 */
export const limitMemory = (directory: string, memoryBytes: number): boolean => {
  const bytes = memoryBytes + ROOM_BYTES;
  const isSecond = readGroupFile(directory, 'memory.max') !== null;
  if (!isLimited(directory, isSecond ? 'memory.max' : 'memory.limit_in_bytes', bytes)) return false;
  for (const [name, value] of isSecond ? VERSION_2 : toVersion1(bytes)) writeGroupFile(directory, name, value);
  return true;
};

/** Null while the kernel has ended nothing in the group. */
export const findMemoryEnd = (directory: string): MemoryEnd | null => {
  const events = readGroupFile(directory, 'memory.events');
  if (events !== null) return readCount(events, 'oom_kill') > 0 ? toEnd(readCount(events, 'oom') > 0) : null;
  const control = readGroupFile(directory, 'memory.oom_control') ?? '';
  return readCount(control, 'oom_kill') > 0 ? toEnd(wasFull(directory)) : null;
};

// One process of a command without the others is nothing that anyone asked for: they end together. No swap: a command
// that swaps takes longer, and its time from others.
const VERSION_2 = [
  ['memory.oom.group', 1],
  ['memory.swap.max', 0],
] as const;

/** Where swap is not counted there is no file for it; then none of the group is swapped out on its own account. */
const toVersion1 = (bytes: number): readonly (readonly [name: string, value: number])[] => [
  ['memory.memsw.limit_in_bytes', bytes],
  ['memory.swappiness', 0],
  // A group starts as the one above it is: there it may be so that who wants too much waits, and nobody is ended.
  ['memory.oom_control', 0],
  ['memory.kmem.tcp.limit_in_bytes', SOCKET_BYTES],
];

/** What was written need not be what holds: the kernel is asked. */
const isLimited = (directory: string, name: string, bytes: number): boolean =>
  writeGroupFile(directory, name, bytes) && Number(readGroupFile(directory, name) ?? Number.NaN) <= bytes;

const readCount = (text: string, name: string): number =>
  Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);

const toEnd = (isOwn: boolean): MemoryEnd => (isOwn ? 'memory' : 'memory outside');

// Some kernels count no failures (memory.failcnt stays 0). Memory is asked for in pieces, the last of which does not fit.
const wasFull = (directory: string): boolean =>
  Number(readGroupFile(directory, 'memory.max_usage_in_bytes')) + MIB >
  Number(readGroupFile(directory, 'memory.limit_in_bytes'));
