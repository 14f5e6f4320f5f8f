import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { watchHostProcesses } from '@recourse/test-support/host-processes.ts';
import { canHideProc, ROOT, startProcess } from '@recourse/test-support/start-process.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';

// What a service is on a system that has no /proc, as macOS.

const Answer = z.object({
  results: z.array(
    z.object({ name: z.string(), outcome: z.string(), error: z.object({ code: z.string() }).nullable() }),
  ),
});

const TOOLS = `
  import { spawn } from 'node:child_process';
  import { writeFileSync } from 'node:fs';
  import { defineTool } from 'recourse-server';
  const tool = (name, run, more = {}) =>
    defineTool({ name, description: '', effects: 'read', input: { type: 'object', additionalProperties: true }, run, ...more });
  export const spin = tool('spin', ({ file }) => { writeFileSync(file, ''); for (;;); });
  export const add = tool('add', () => 1 + 1);
  export const hang = tool('hang', () => { spawn('/bin/sleep', ['60'], { stdio: 'ignore' }); for (;;); }, { timeoutMs: 500 });
`;

test.runIf(canHideProc())('without /proc the service serves all but the shell, and says what it lacks', async () => {
  const processes = watchHostProcesses();
  const { root } = makeDirectory({ 'tools.ts': TOOLS });
  const base = mkdtempSync(join(tmpdir(), 'recourse-without-proc-'));
  onTestFinished(() => rmSync(base, { recursive: true }));
  const workspace = join(base, 'workspace');
  mkdirSync(workspace);
  writeFileSync(join(workspace, 'notes.md'), '# Plan\nthe plan');
  const config = join(base, 'recourse.config.yaml');
  const server = join(ROOT, 'node_modules/@modelcontextprotocol/server-filesystem/dist/index.js');
  writeFileSync(config, `mcpServers:\n  files:\n    command: node\n    args: ["${server}", "${workspace}"]\n`);
  const service = await startProcess({
    by: 'node',
    proc: 'hidden',
    environment: {
      WORKSPACE_DIR: workspace,
      NOTES_DIR: workspace,
      TOOLS_DIR: root,
      CONFIG_FILE: config,
      TOOL_GROUPS: 'notes,shell',
      ...processes.environment,
    },
  });

  const warnings = service.logLines().filter(({ level }) => level === 40);
  expect(warnings.map(({ msg, reason }) => (reason === undefined ? msg : `${msg}: ${reason}`))).toEqual([
    'no /proc/self/fd: file tools compare paths, so a local process that replaces directories by links could mislead them',
    'shell tool not offered: the sandbox needs Linux namespaces and /proc: run the service in the container',
    'no /proc: tool processes cannot be listed; TOOL_HOST_MEMORY_MB limits only the JavaScript heap, and a process that a tool moves out of its process group survives its host',
    'control group limits cannot be read: the number of tool hosts is computed from the memory of the machine',
  ]);

  const calls = [
    { name: 'echo', arguments: { text: 'hello' } },
    { name: 'write_file', arguments: { path: 'new/file.txt', content: 'the plan' } },
    { name: 'read_file', arguments: { path: 'notes.md' } },
    { name: 'list_files', arguments: {} },
    { name: 'search_files', arguments: { query: 'the plan', path: 'notes.md' } },
    { name: 'list_notes', arguments: {} },
    { name: 'files_list_allowed_directories', arguments: {} },
    { name: 'add', arguments: {} },
    { name: 'hang', arguments: {} },
  ];
  const post = (batch: readonly unknown[]): Promise<Response> =>
    fetch(`${service.url}/tool-calls`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ calls: batch }),
    });
  const { results } = Answer.parse(await (await post(calls)).json());
  expect(results.map(({ name, outcome, error }) => `${name} ${error?.code ?? outcome}`)).toEqual([
    'echo success',
    'write_file success',
    'read_file success',
    'list_files success',
    'search_files success',
    'list_notes success',
    'files_list_allowed_directories success',
    'add success',
    'hang timeout',
  ]);
  expect(readFileSync(join(workspace, 'new/file.txt'), 'utf8')).toBe('the plan');
  expect((await fetch(`${service.url}/metrics`)).status).toBe(200);

  // The host that hung has ended, with what it started.
  const countStrays = (): number => processes.pids().length - processes.hosts().length;
  await expect.poll(countStrays, { timeout: timeLimit(10_000) }).toBe(0);
  // One that spins hears of nothing, and ends with the service all the same.
  const spins = join(base, 'spins');
  const cutOff = post([{ name: 'spin', arguments: { file: spins } }]).catch(() => undefined);
  await expect.poll(() => existsSync(spins), { timeout: timeLimit(10_000) }).toBe(true);
  service.send('SIGKILL', 'service');
  await cutOff;
  await expect.poll(() => processes.pids(), { timeout: timeLimit(10_000) }).toEqual([]);
});
