import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import type { Duplex, Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';

/** What a host may do, in the words of TOOLS_PERMISSIONS. */
export type HostPermission = 'fs-read' | 'fs-write' | 'net' | 'child' | 'worker' | 'addons' | 'wasi';

export type HostLaunch = {
  readonly permissions: readonly string[];
  readonly memoryMb: number;
  /** All the environment it gets. */
  readonly environment: Readonly<Record<string, string>>;
  /** What it must be able to read whatever its permissions say: the tools directory. */
  readonly root: string;
};

/** A started host: its process, and the channel to it. */
export type HostProcess = {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly channel: Duplex;
};

const ENTRY = fileURLToPath(
  new URL(`./inside/host-main${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url),
);
/** src/ or dist/, and node_modules beside it. */
const PACKAGE = fileURLToPath(new URL('../../..', import.meta.url));

const FLAGS: Readonly<Record<string, readonly string[]>> = {
  'fs-read': ['--allow-fs-read=*'],
  'fs-write': ['--allow-fs-write=*'],
  net: ['--allow-net'],
  child: ['--allow-child-process'],
  worker: ['--allow-worker'],
  addons: ['--allow-addons'],
  wasi: ['--allow-wasi'],
};

// util-linux, on every Debian. With it even a spinning host dies with a service that was killed; without it only those
// that still read their channel.
const SETPRIV = '/usr/bin/setpriv';
const DIE_WITH_PARENT = existsSync(SETPRIV) ? [SETPRIV, '--pdeathsig', 'KILL'] : [];

// The service must answer while its tools compute.
const NICENESS = 5;
// When memory is short the kernel should end a host, not the service: the highest score goes first.
const OOM_SCORE = '800';

/** Starts a host in a process group of its own. Throws what the system says when it starts no process. */
export const launchHost = (launch: HostLaunch): HostProcess => {
  const [command = process.execPath, ...words] = [...DIE_WITH_PARENT, process.execPath, ...toFlags(launch), ENTRY];
  const child = spawn(command, words, {
    env: launch.environment,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    detached: true,
  });
  // Without a listener a process that cannot be started would end the service.
  child.on('error', () => undefined);
  const { pid, stdout, stderr } = child;
  const channel = child.stdio[3];
  if (pid === undefined || stdout === null || stderr === null || !isDuplex(channel))
    throw new Error('No process could be started.');
  yieldTo(pid);
  return { child, pid, stdout, stderr, channel };
};

const isDuplex = (stream: unknown): stream is Duplex =>
  typeof stream === 'object' && stream !== null && 'write' in stream;

const toFlags = ({ permissions, memoryMb, root }: HostLaunch): readonly string[] => [
  // The heap gets three quarters: a process is more than its heap, and V8 says clearly when that is full.
  `--max-old-space-size=${Math.floor(memoryMb * 0.75)}`,
  '--permission',
  ...permissions.flatMap((permission) => FLAGS[permission] ?? []),
  ...(permissions.includes('fs-read') ? [] : [`--allow-fs-read=${PACKAGE}`, `--allow-fs-read=${root}`]),
  // Of the permission model's own flags; in front of every stderr it would only hide what a tool says.
  '--disable-warning=SecurityWarning',
  '--disable-warning=ExperimentalWarning',
];

/** Puts the process behind the service, in the queue for the processor and before it in the kernel's choice for memory. */
const yieldTo = (pid: number): void => {
  try {
    setPriority(pid, NICENESS);
    writeFileSync(`/proc/${pid}/oom_score_adj`, OOM_SCORE);
  } catch (_refused) {
    // It may have ended already, or the system has no such thing: neither is a reason not to use it.
  }
};
