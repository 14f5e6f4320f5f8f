import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LogLine, type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, vi } from 'vitest';
import * as z from 'zod';
import { ToolDescription } from '#src/contract/tool-description.ts';
import type { Tool } from '#src/tools/tool.ts';

/** The CI's machines are slow. */
export const DEADLINE = { timeout: timeLimit(30_000), interval: 50 };

/** An entry of `mcpServers`: a child process that says `word` in each of its tools. */
export const serverOf = (word: string, tools: readonly string[], more: Readonly<Record<string, unknown>> = {}) => ({
  command: process.execPath,
  args: [join(import.meta.dirname, 'named-server.ts'), word, ...tools],
  ...more,
});

/** What its tools answer. */
export const Said = z.object({ word: z.string(), pid: z.number(), token: z.string().nullable() });

export const createFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'recourse-config-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
};

export type ConfigLab = {
  readonly service: RunningService;
  readonly path: string;
  readonly write: (content: unknown) => Promise<void>;
  /** Writes, and waits for the log line of this message that this leads to. */
  readonly change: (content: unknown, message?: string) => Promise<LogLine>;
  readonly linesOf: (message: string) => readonly LogLine[];
  readonly tools: () => Promise<ReadonlyMap<string, ToolDescription>>;
};

export const READ_AGAIN = 'configuration file reloaded';
export const CHANGED_WRONGLY = 'invalid configuration file, keeping the previous version';

const toText = (content: unknown): string => (typeof content === 'string' ? content : JSON.stringify(content));

/** A whole service with a configuration file on the real disk. Stopped when the test ends. */
export const startConfigLab = async (
  content: unknown,
  environment: Readonly<Record<string, string>> = {},
  tools: readonly Tool[] = [],
): Promise<ConfigLab> => {
  const path = join(await createFolder(), 'recourse.config.yaml');
  await writeFile(path, toText(content));
  const service = await startService({ CONFIG_FILE: path, ...environment }, tools);
  onTestFinished(() => service.stop());
  const linesOf = (message: string) => service.logLines().filter(({ msg }) => msg === message);
  return {
    service,
    path,
    write: (next) => writeFile(path, toText(next)),
    change: async (next, message = READ_AGAIN) => {
      const before = linesOf(message).length;
      await writeFile(path, toText(next));
      await vi.waitFor(() => expect(linesOf(message).length).toBeGreaterThan(before), DEADLINE);
      return linesOf(message).at(-1) ?? {};
    },
    linesOf,
    tools: () => readTools(service.url),
  };
};

const Catalogue = z.object({ tools: z.array(ToolDescription) });

const readTools = async (url: string): Promise<ReadonlyMap<string, ToolDescription>> => {
  const { tools } = Catalogue.parse(await (await fetch(`${url}/tools`)).json());
  return new Map(tools.map((tool) => [tool.name, tool]));
};
