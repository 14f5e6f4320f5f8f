import { randomUUID } from 'node:crypto';
import { relative } from 'node:path';
import type { HostedTool, Placing } from 'recourse-server/tools/tool';
import { createRunHosted } from './create-run-hosted.ts';
import type { ToolFileHosts } from './directory/load-tool-file.ts';
import { createHostEnvironment, HOST_MARK, isAllowedName, isGrantedName } from './host-environment.ts';
import type { IsolationObserver } from './host-observer.ts';
import { HostPool } from './host-pool.ts';
import { type HostGroup, HostRestarts } from './host-restarts.ts';
import { HostWatch } from './host-watch.ts';
import type { FileGroup } from './hosted-files.ts';
import { createToolHost, type ToolHost } from './hosted-process.ts';
import { countWhere, type PoolMember } from './pool-records.ts';
import type { ProcessTable } from './process-table.ts';

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
  /** Names of tools, or beginnings of names such as `shell_*`, whose files share their processes with no other. */
  readonly ownTools: readonly string[];
  /** How the service learns of processes and ends them. */
  readonly processes: ProcessTable;
  readonly now: () => number;
  readonly observer: IsolationObserver;
};

export type Isolation = ReturnType<typeof createIsolation>;

const TIDY_EVERY_MS = 5000;
const MOST_FILES = 50;
const MIB = 1_048_576;

/** Tool hosts: processes in which the code of a tools directory runs, and what watches over them. */
export const createIsolation = (settings: IsolationSettings) => {
  const { now, observer, processes, memoryMb, environment, permissions, maxResultBytes } = settings;
  const { sharedVariables: shared, allowedVariables: allowed } = settings;
  const service = randomUUID();
  const guard = processes.guardHosts(`${service}.`);
  const marks = new Map<ToolHost, string>();
  const restarts = new HostRestarts();
  const pool = new HostPool({
    ...settings,
    isGranted: (name) => isGrantedName(name, environment, allowed),
    isOwn: (tool) => isAllowedName(tool, settings.ownTools),
    startHost: ({ granted, file: { root } }) => {
      const mark = `${service}.${randomUUID()}`;
      const hostEnvironment = {
        ...createHostEnvironment(granted, { environment, shared, allowed }),
        [HOST_MARK]: mark,
      };
      const launch = { permissions, memoryMb, environment: hostEnvironment, root };
      const host = createToolHost({ launch, processes, maxResultBytes, observer });
      if (host === null) return null;
      marks.set(host, mark);
      guard.add({ pid: host.pid, mark });
      return host;
    },
    onEnded: ({ host }, death, restart, file) => {
      guard.remove({ pid: host.pid, mark: marks.get(host) ?? '' });
      marks.delete(host);
      if (restart !== null && file !== null)
        restarts.add(
          relative(file.root, file.path),
          restart,
          { lastLines: death.lastLines, recycledFor: host.unusableFor },
          now(),
        );
      observer.hostEnded(file?.path ?? null, death, restart);
    },
    onOffence: ({ path }, offence) => observer.fileOffended(path, offence),
  });
  const tidying = setInterval(() => pool.tidy(), TIDY_EVERY_MS).unref();
  const watch = new HostWatch(pool, memoryMb, processes);
  const hosts: ToolFileHosts = pool;
  return {
    hosts,
    runHosted: createRunHosted({ pool, now, onWaited: observer.hostObtained }),
    /** Where this tool's calls run. */
    placingOf: (tool: HostedTool): Placing => pool.placingOf(tool),
    /** Which files share processes, and variables in them beside those that every process has. */
    listGroups: (): readonly FileGroup[] =>
      pool.listGroups().map(({ files, variables }) => ({ files, variables: [...new Set([...shared, ...variables])] })),
    /** What the processes do that there are, or that had to be replaced in the last hour, by the files that share them. */
    listHosts: (): readonly HostGroup[] =>
      pool.listGroups().map(({ group, files }) => {
        const members = [...pool.members].filter((member) => member.group === group);
        return {
          files: restarts.worstFirst(files, now()).slice(0, MOST_FILES),
          processes: members.length,
          memoryBytes: Math.max(0, ...members.map(({ host }) => processes.residentBytes(host.pid))),
          limitBytes: memoryMb * MIB,
          ...restarts.sum(files, now()),
        };
      }),
    count: (phase: PoolMember['phase']): number => countWhere(pool.members, (member) => member.phase === phase),
    /** Ends all processes without waiting for it: for a process that exits. */
    killAll: (): void => pool.killAll(),
    /** Ends all processes, and what they left behind. */
    close: async (): Promise<void> => {
      clearInterval(tidying);
      watch.stop();
      pool.killAll();
      await pool.whenEmpty();
      await guard.whenSwept();
      guard.end();
    },
  };
};
