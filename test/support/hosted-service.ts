import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { expect } from 'vitest';
import type { ToolResult } from '#src/contract/tool-result.ts';
import { type HostProcesses, watchHostProcesses } from './host-processes.ts';
import { type Launch, type RunningProcess, startProcess } from './start-process.ts';
import { callService } from './start-service.ts';
import { timeLimit } from './time-limit.ts';

/** The service as a process of its own with tools that wait, hang, spin, and start processes. */
export type HostedService = {
  readonly running: RunningProcess;
  readonly processes: HostProcesses;
  readonly call: (
    calls: readonly unknown[],
    envelope?: Readonly<Record<string, unknown>>,
  ) => Promise<readonly ToolResult[]>;
  /** Resolves when this many calls have begun in hosts. */
  readonly began: (calls: number) => Promise<void>;
  /** Lets all calls of `until_told` end. */
  readonly tell: () => void;
  /** The ids that `note` was called with. */
  readonly noted: () => readonly string[];
  /** Resolves when no host, and nothing that a tool started, is left. */
  readonly allGone: () => Promise<void>;
};

const toToolFile = (desk: string): string => `
  import { spawn } from 'node:child_process';
  import { existsSync, writeFileSync } from 'node:fs';
  import { setTimeout as wait } from 'node:timers/promises';
  import { defineTool } from 'recourse-server';
  const tool = (name, effects, run) =>
    defineTool({ name, description: '', effects, input: { type: 'object', additionalProperties: true }, run });
  let begun = 0;
  const begin = () => writeFileSync('${desk}/began-' + process.pid + '-' + (begun += 1), '');
  const hang = () => { begin(); return new Promise(() => setInterval(() => undefined, 1000)); };
  const beget = () => {
    const start = (detached) => spawn('sleep', ['600'], { stdio: 'ignore', detached });
    return [start(false).pid, start(true).pid];
  };
  export const tools = [
    tool('until_told', 'read', async () => {
      begin();
      while (!existsSync('${desk}/told')) await wait(10);
      return 'told';
    }),
    tool('hang', 'read', hang),
    tool('hang_writing', 'write', hang),
    tool('spin', 'read', () => { begin(); for (;;); }),
    tool('beget', 'read', beget),
    tool('beget_and_hang', 'read', () => { beget(); return hang(); }),
    tool('note', 'write', async ({ id }) => {
      writeFileSync('${desk}/noted-' + id, '');
      await wait(20);
      return id;
    }),
  ];
`;

export const startHostedService = async ({ by, environment = {} }: Launch): Promise<HostedService> => {
  const processes = watchHostProcesses();
  const { root: desk, write } = makeDirectory();
  const { root } = makeDirectory({ 'tools.ts': toToolFile(desk) });
  const running = await startProcess({
    by,
    // Not about load: a busy machine must not have batches refused.
    environment: { TOOLS_DIR: root, MAX_EVENT_LOOP_LAG_MS: '60000', ...processes.environment, ...environment },
  });
  const named = (prefix: string): readonly string[] =>
    existsSync(desk) ? readdirSync(desk).flatMap((name) => (name.startsWith(prefix) ? [join(desk, name)] : [])) : [];
  return {
    running,
    processes,
    call: (calls, envelope = {}) => callService(running.url, calls, envelope),
    // More where a call that does no harm shared its process with one that spins: it begins again in another.
    began: (calls) =>
      expect.poll(() => named('began-').length, { timeout: timeLimit(60_000) }).toBeGreaterThanOrEqual(calls),
    tell: () => write('told', ''),
    noted: () => named('noted-').map((path) => path.slice(path.lastIndexOf('-') + 1)),
    allGone: () => expect.poll(processes.pids, { timeout: timeLimit(5000) }).toEqual([]),
  };
};
