import type { ChildProcess } from 'node:child_process';
import { Readable, Writable } from 'node:stream';
import { INSTALLATION, SOURCE_FLAGS } from 'recourse-server/files/own-package';
import { findHostEntry } from './host-entry.ts';
import { startProcess, stepBehind } from './process-control.ts';

export type HostLaunch = {
  /** What it may do, in the words of TOOLS_PERMISSIONS. */
  readonly permissions: readonly string[];
  readonly memoryMb: number;
  /** All the environment it gets. */
  readonly environment: Readonly<Record<string, string>>;
  /** What it must be able to read whatever its permissions say: the tools directory. */
  readonly root: string;
};

/**
 * A started host: its process, and the two lines to it. They are two because a socket that cannot be written to any more
 * is no longer read by Node either, and the last messages of a host that has ended must be read.
 */
export type HostProcess = {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly orders: Writable;
  readonly words: Readable;
};

const FLAGS: Readonly<Record<string, readonly string[]>> = {
  'fs-read': ['--allow-fs-read=*'],
  'fs-write': ['--allow-fs-write=*'],
  // Up to Node 24 there is no such permission: tools may use the network, and the flag ends the process.
  net: process.allowedNodeEnvironmentFlags.has('--allow-net') ? ['--allow-net'] : [],
  child: ['--allow-child-process'],
  worker: ['--allow-worker'],
  addons: ['--allow-addons'],
  wasi: ['--allow-wasi'],
};

let entry: string | null = null;

/** Starts a host in a process group of its own. null where the system gives no process. */
export const launchHost = (launch: HostLaunch): HostProcess | null => {
  // Asked once: all hosts of a service run the same code.
  entry ??= findHostEntry();
  const child = startProcess(process.execPath, [...SOURCE_FLAGS, ...listFlags(launch), entry], {
    env: { ...launch.environment },
    stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'],
    detached: true,
  });
  if (child === null) return null;
  const { pid, stdout, stderr } = child;
  const [, , , orders, words] = child.stdio;
  if (pid === undefined || stdout === null || stderr === null) return null;
  if (!(orders instanceof Writable && words instanceof Readable)) return null;
  stepBehind(pid);
  return { child, pid, stdout, stderr, orders, words };
};

const listFlags = ({ permissions, memoryMb, root }: HostLaunch): readonly string[] => [
  // The heap gets three quarters: a process is more than its heap, and V8 says clearly when that is full.
  `--max-old-space-size=${Math.floor(memoryMb * 0.75)}`,
  '--permission',
  ...permissions.flatMap((permission) => FLAGS[permission] ?? []),
  ...(permissions.includes('fs-read') ? [] : [`--allow-fs-read=${INSTALLATION}`, `--allow-fs-read=${root}`]),
  // Of the permission model's own flags; in front of every stderr it would only hide what a tool says.
  '--disable-warning=SecurityWarning',
  '--disable-warning=ExperimentalWarning',
];
