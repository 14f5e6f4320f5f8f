import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { timeLimit } from './time-limit.ts';

// The file is read twice a second, and a server that died is started again after half a second or more.
const PATIENCE = { timeout: timeLimit(20_000), interval: 50 };

type Watched = {
  readonly batch: (calls: readonly string[]) => Promise<unknown>;
  readonly metric: (name: string, label?: string) => Promise<number>;
};

/** A configuration file with an MCP server in it. */
export type MixedLoadUpstream = {
  readonly file: string;
  /** Makes a mistake in it, or mends that. */
  readonly change: (to: 'right' | 'wrong') => void;
};

/** In this folder, which goes with its test. */
export const createMixedLoadUpstream = (folder: string): MixedLoadUpstream => {
  const file = join(folder, 'recourse.config.json');
  const server = join(import.meta.dirname, 'mcp-servers/scripted-server.ts');
  const args = [server, 'plain', join(folder, 'upstream-calls')];
  const content = { mcpServers: { files: { command: process.execPath, args } } };
  const change: MixedLoadUpstream['change'] = (to) =>
    writeFileSync(file, JSON.stringify(to === 'right' ? content : { ...content, mcpServer: {} }));
  change('right');
  return { file, change };
};

const FILES = '"mcp:files"';

/** Its MCP server dies in the middle of a call, and is there again. */
export const loseUpstream = async ({ batch, metric }: Watched): Promise<void> => {
  const isUp = () => expect.poll(() => metric('recourse_upstream_up', FILES), PATIENCE).toBe(1);
  await isUp();
  const before = await metric('recourse_upstream_reconnects_total', FILES);
  await batch(['files_echo', 'files_count_and_die']);
  await expect.poll(() => metric('recourse_upstream_reconnects_total', FILES), PATIENCE).toBeGreaterThan(before);
  await isUp();
};

/** The configuration file is mended, then broken, and left so: what it said before holds. */
export const breakConfigFile = async ({
  upstream,
  metric,
}: Watched & { readonly upstream: MixedLoadUpstream }): Promise<void> => {
  for (const [to, refused] of [
    ['right', 0],
    ['wrong', 1],
  ] as const) {
    upstream.change(to);
    await expect.poll(() => metric('recourse_config_file_refused'), PATIENCE).toBe(refused);
  }
};
