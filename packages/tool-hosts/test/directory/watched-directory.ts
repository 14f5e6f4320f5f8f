import { toolThat } from '@recourse/test-support/misbehaving-tools.ts';
import { makeDirectory, type TemporaryDirectory } from '@recourse/test-support/temporary-directory.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import type { ToolDescription } from 'recourse-server/internal/contract/tool-description.ts';
import { createBuiltinReducers } from 'recourse-server/internal/tools/builtin-reducers.ts';
import { createToolRegistry, type ToolRegistry } from 'recourse-server/internal/tools/registry.ts';
import type { ToolFile } from 'recourse-server/internal/tools/tool.ts';
import { expect, onTestFinished } from 'vitest';
import { ToolDirectory, type ToolDirectoryOptions } from '#src/directory/tool-directory.ts';
import { createScriptedHosts, type ScriptedHosts } from './scripted-hosts.ts';

export type LogEntry = Readonly<Record<string, unknown>> & {
  readonly level: 'info' | 'warn';
  readonly message: string;
};

export type WatchedDirectory = TemporaryDirectory & {
  readonly hosts: ScriptedHosts;
  readonly registry: ToolRegistry;
  readonly log: readonly LogEntry[];
  /** Names of tools whose version was offered still when it was retired. */
  readonly retiredTooEarly: readonly string[];
  /** `name` of what serves, `-name: reason` of what does not, `name (reason)` of what serves in an older version. */
  readonly offered: () => readonly string[];
  /** Resolves when that is offered. */
  readonly becomes: (offered: readonly string[]) => Promise<void>;
  /** Resolves when the directory was loaded so many times more, the offer changed or not. */
  readonly loadedTimes: (times: number) => Promise<void>;
  readonly stop: () => void;
};

export type WatchOptions = Partial<Pick<ToolDirectoryOptions, 'inline' | 'loadsAtOnce' | 'root' | 'againMs'>>;

/** A tools directory with its hosts, and a registry that has the tool `echo` and the built-in reducers. Looked at every 10 ms. */
export const watchDirectory = async (
  files: Readonly<Record<string, string>>,
  options: WatchOptions = {},
): Promise<WatchedDirectory> => {
  const directory = makeDirectory(files);
  const hosts = createScriptedHosts();
  const registry = createToolRegistry([toolThat('echo', () => 'echo'), ...createBuiltinReducers()]);
  const log: LogEntry[] = [];
  const write =
    (level: LogEntry['level']) =>
    (fields: Readonly<Record<string, unknown>>, message: string): void =>
      void log.push({ level, message, ...fields });
  const retiredTooEarly: string[] = [];
  const retire = (file: ToolFile): void => {
    const serving = registry.list().filter((tool) => tool.runsIn === 'host' && tool.file === file);
    retiredTooEarly.push(...serving.map(({ name }) => name));
    hosts.retire(file);
  };
  const tools = new ToolDirectory({
    root: directory.root,
    hosts: { ...hosts, retire },
    register: registry.offer,
    taken: [...registry.list(), ...registry.reducers()],
    inline: { allowed: new Set(), load: () => Promise.resolve([]) },
    log: { info: write('info'), warn: write('warn') },
    pollMs: 10,
    ...options,
  });
  onTestFinished(() => tools.stop());
  await tools.start();
  const offered = (): readonly string[] =>
    registry
      .describe()
      .filter(({ source }) => source !== 'builtin')
      .map(toLine);
  const loads = (): number => log.filter(({ message }) => message === 'tools directory loaded').length;
  return {
    ...directory,
    hosts,
    registry,
    log,
    retiredTooEarly,
    offered,
    becomes: (expected) => expect.poll(offered, { timeout: timeLimit(10_000), interval: 5 }).toEqual(expected),
    loadedTimes: (times) => {
      const goal = loads() + times;
      return expect.poll(loads, { timeout: timeLimit(10_000), interval: 5 }).toBe(goal);
    },
    stop: () => tools.stop(),
  };
};

const toLine = ({ name, available, unavailable_reason, outdated_reason }: ToolDescription): string => {
  if (!available) return `-${name}: ${unavailable_reason}`;
  return outdated_reason === undefined ? name : `${name} (${outdated_reason})`;
};
