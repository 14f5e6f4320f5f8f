import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import type { ToolResult } from 'recourse-server/internal/contract/tool-result.ts';

const CACHE = fileURLToPath(new URL('../../../node_modules/.cache/recourse/bubblewrap', import.meta.url));

const isExecutable = (file: string): boolean => {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch (_missing) {
    return false;
  }
};

/** Bubblewrap on PATH, or where scripts/ensure-bubblewrap.sh puts it. Throws without it. */
export const findBwrap = (): string => {
  const places = [...(process.env['PATH'] ?? '').split(delimiter), CACHE];
  const found = places.map((directory) => join(directory, 'bwrap')).find(isExecutable);
  if (found === undefined) throw new Error('There is no bwrap: run sh scripts/ensure-bubblewrap.sh.');
  return found;
};

/** A workspace `ws` for commands in a directory of its own, with `secret.txt` ("the secret") beside it. */
export type ShellPlace = {
  readonly base: string;
  readonly root: string;
  /** Processes that see this workspace, or name it: bubblewrap and everything in its sandboxes. */
  readonly processes: () => readonly number[];
  readonly remove: () => void;
};

export const createShellPlace = (): ShellPlace => {
  const base = mkdtempSync(join(tmpdir(), 'recourse-shell-'));
  const root = join(base, 'ws');
  mkdirSync(root);
  writeFileSync(join(base, 'secret.txt'), 'the secret');
  const mark = `${basename(base)}/ws`;
  return {
    base,
    root,
    processes: () =>
      readPids().filter((pid) => ['mountinfo', 'cmdline'].some((file) => read(pid, file).includes(mark))),
    remove: () => rmSync(base, { recursive: true, force: true }),
  };
};

const readPids = (): readonly number[] => readdirSync('/proc').map(Number).filter(Number.isInteger);

// What has ended, a zombie too, has neither.
const read = (pid: number, file: string): string => {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch (_gone) {
    return '';
  }
};

/** Control groups that a service in this process made for commands and that are still there. */
export const findControlGroups = (): readonly string[] =>
  readDirectories('/sys/fs/cgroup').filter((path) =>
    new RegExp(`/recourse\\.\\d+\\.${process.pid}\\.[^/]+$`).test(path),
  );

// They come and go while they are read.
const readDirectories = (directory: string): readonly string[] => {
  try {
    const entries = readdirSync(directory, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    const paths = entries.map(({ name }) => join(directory, name));
    return [...paths, ...paths.flatMap(readDirectories)];
  } catch (_gone) {
    return [];
  }
};

/**
 * Whether the memory of a command can be limited as a whole on this machine, found without the code under test: root, and a
 * control group of version 2, that of this process or one further out, in which a new one limits memory.
 */
export const canLimitMemory = (): boolean => {
  if (process.geteuid?.() !== 0) return false;
  const [, path = '/'] = /^0::(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'latin1')) ?? [];
  const own = path.includes('..') ? '/' : path;
  const mounts = readFileSync('/proc/self/mounts', 'latin1')
    .split('\n')
    .map((line) => line.split(' '));
  return mounts.some(
    ([, point = '', kind]) =>
      kind === 'cgroup2' && outwards(point, own).some((place) => limitsBelow(place, 'memory.max')),
  );
};

const outwards = (point: string, path: string): readonly string[] =>
  path === '/' ? [point] : [join(point, path), ...outwards(point, dirname(path))];

const limitsBelow = (place: string, file: string): boolean => {
  const probe = join(place, `probe.${process.pid}`);
  try {
    mkdirSync(probe);
  } catch (_refused) {
    return false;
  }
  const type = join(probe, 'cgroup.type');
  const limits =
    existsSync(join(probe, file)) && (!existsSync(type) || readFileSync(type, 'latin1').trim() === 'domain');
  rmdirSync(probe);
  return limits;
};

/** The settings of a service that offers the shell tool on this place. */
export const toShellSettings = ({ root }: ShellPlace): Readonly<Record<string, string>> => ({
  TOOL_GROUPS: 'shell',
  WORKSPACE_DIR: root,
  SHELL_BWRAP_PATH: findBwrap(),
});

export type ShellLab = ShellPlace & {
  readonly service: RunningService;
  /** Runs one command through the whole service. */
  readonly run: (command: string) => Promise<ToolResult>;
  readonly stop: () => Promise<void>;
};

/** A whole service with the shell tool. `stop` checks the contract and that no process is left. Rejects without a sandbox. */
export const startShellLab = async (settings: Readonly<Record<string, string>> = {}): Promise<ShellLab> => {
  const place = createShellPlace();
  const service = await startService({ ...toShellSettings(place), ...settings });
  const refused = service.logLines().find(({ msg }) => msg === 'shell tool not offered');
  if (refused !== undefined) {
    await service.stop();
    place.remove();
    throw new Error(`There is no sandbox: ${String(refused['reason'])}.`);
  }
  return {
    ...place,
    service,
    run: async (command) => {
      const [result] = await service.call([{ id: 'c', name: 'run_shell_command', arguments: { command } }]);
      if (result === undefined) throw new Error('There is no result.');
      return result;
    },
    stop: async () => {
      const violations = await service.metric('recourse_contract_violations_total');
      await service.stop();
      const left = place.processes();
      place.remove();
      if (violations !== 0 || left.length > 0)
        throw new Error(`${violations} violations of the contract; processes left: ${left.join(', ')}`);
    },
  };
};

/** What a successful or failed command wrote to stdout. */
export const stdoutOf = ({ value, message }: ToolResult): string => {
  if (typeof value === 'object' && value !== null && 'stdout' in value && typeof value.stdout === 'string')
    return value.stdout;
  throw new Error(`No stdout: ${message}`);
};
