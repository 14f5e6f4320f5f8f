import { randomUUID } from 'node:crypto';
import type { RunHosted } from '../executor/run-hosted.ts';
import type { ToolFileHosts } from '../tools/directory/load-tool-file.ts';
import { createRunHosted } from './create-run-hosted.ts';
import { createDescendantsSweep } from './descendants-sweep.ts';
import { countPhase, type FileHosts, type PoolMember } from './file-hosts.ts';
import { HOST_MARK, toHostEnvironment } from './host-environment.ts';
import { HostPool } from './host-pool.ts';
import type { IsolationObserver } from './isolation-observer.ts';
import { readResidentBytes } from './process-control.ts';
import { toThrown } from './read-answer.ts';
import { startWatchdog } from './start-watchdog.ts';
import { createToolHost, type ToolHost } from './tool-host.ts';

export type HostPhase = PoolMember['phase'];

export type IsolationSettings = {
  readonly minHosts: number;
  readonly maxHosts: number;
  readonly maxCalls: number;
  readonly memoryMb: number;
  readonly maxResultBytes: number;
  readonly permissions: readonly string[];
  /** The service's environment, of which hosts get what is named. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly sharedVariables: readonly string[];
  readonly allowedVariables: readonly string[];
  readonly now: () => number;
  readonly observer: IsolationObserver;
};

export type Isolation = {
  readonly hosts: ToolFileHosts;
  readonly runHosted: RunHosted;
  readonly count: (phase: HostPhase) => number;
  /** Ends all processes without waiting for it: for a process that exits. */
  readonly killAll: () => void;
  /** Ends all processes, and what they left behind. */
  readonly close: () => Promise<void>;
};

// The service does not listen before all files are loaded. One that has been loaded before may take its time: where it
// does, the machine is busy, and giving up would only begin it all again.
const FIRST_LOAD_MS = 2000;
const LOAD_AGAIN_MS = 10_000;
const TIDY_EVERY_MS = 5000;
const LOOK_AT_MEMORY_EVERY_MS = 100;
// Between calls a host that has grown this much is replaced before it fails one.
const GROWN = 0.8;

/** Tool hosts: processes in which the code of a tools directory runs, and what watches over them. */
export const createIsolation = (settings: IsolationSettings): Isolation => {
  const { now, observer } = settings;
  const sweep = createDescendantsSweep();
  const service = randomUUID();
  const watchdog = startWatchdog(`${HOST_MARK}=${service}.`);
  const marks = new Map<ToolHost, string>();
  const pool = new HostPool({
    ...settings,
    startHost: (hosts) => {
      const mark = `${service}.${randomUUID()}`;
      const host = startHost(hosts, mark, settings);
      if (host !== null) marks.set(host, mark);
      return host;
    },
    onEnded: ({ host, hosts }, death, restart) => {
      sweep.add(marks.get(host) ?? '');
      marks.delete(host);
      observer.hostEnded(hosts.file.path, death, restart);
    },
  });
  const tidying = setInterval(() => pool.tidy(), TIDY_EVERY_MS).unref();
  const watching = setInterval(() => endLarge(pool.members, settings), LOOK_AT_MEMORY_EVERY_MS).unref();
  return {
    hosts: pool,
    runHosted: createRunHosted({ pool, now, onWaited: observer.hostObtained }),
    count: (phase) => countPhase(pool.members, phase),
    killAll: () => pool.killAll(),
    close: async () => {
      clearInterval(tidying);
      clearInterval(watching);
      pool.killAll();
      await pool.whenEmpty();
      await sweep.whenSwept();
      watchdog.end();
    },
  };
};

const startHost = (hosts: FileHosts, mark: string, settings: IsolationSettings): ToolHost | null => {
  const { observer, environment, sharedVariables: shared, allowedVariables: allowed } = settings;
  const { path, root } = hosts.file;
  const launch = {
    permissions: settings.permissions,
    memoryMb: settings.memoryMb,
    environment: { ...toHostEnvironment(hosts.asked, { environment, shared, allowed }), [HOST_MARK]: mark },
    root,
  };
  const listener = {
    onDropped: observer.messageDropped,
    onStray: (tool: string | null, thrown: Parameters<typeof toThrown>[0]) =>
      observer.strayThrown(tool, path, toThrown(thrown)),
    onUnfit: (tool: string | null, reason: string) => observer.hostUnfit(tool, path, reason),
    onLine: (stream: 'stdout' | 'stderr', line: string) => observer.lineWritten(path, stream, line),
  };
  const { maxResultBytes } = settings;
  const maxLoadMs = hosts.isLoaded ? LOAD_AGAIN_MS : FIRST_LOAD_MS;
  return createToolHost(hosts.file, hosts.sources, {
    launch,
    maxLoadMs,
    maxResultBytes,
    createNonce: randomUUID,
    listener,
  });
};

/** Ends hosts that hold more memory than they may: a heap has a limit of its own, buffers have none. */
const endLarge = (members: Iterable<PoolMember>, { now, memoryMb }: IsolationSettings): void => {
  const limit = memoryMb * 1_048_576;
  for (const member of members) {
    const { host, phase } = member;
    const bytes = isWorthALook(member, now()) ? readResidentBytes(host.pid) : 0;
    if (phase === 'busy' && bytes > limit) host.kill('memory');
    // One that is large from the start would only be followed by another.
    if (phase === 'idle' && bytes > limit * GROWN && host.answered() > 0) host.kill('recycle');
  }
};

// Most calls are over before the next look.
const isWorthALook = ({ host, phase, since }: PoolMember, now: number): boolean =>
  phase !== 'starting' && !host.isEnding() && (phase === 'idle' || now - since >= LOOK_AT_MEMORY_EVERY_MS);
