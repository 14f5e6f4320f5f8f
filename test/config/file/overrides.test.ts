import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createFolder, DEADLINE, serverOf, startConfigLab } from '@recourse/test-support/config-lab.ts';
import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import { defineTool } from '#src/tools/define-tool.ts';

const slow = defineTool({
  name: 'slow',
  description: 'Takes a minute.',
  input: z.object({}),
  effects: 'read',
  run: (_input, { signal }) => new Promise((resolve) => signal.addEventListener('abort', resolve)),
});

const HOSTED = `
import { defineTool, z } from 'recourse-server';
export default defineTool({
  name: 'hosted_slow', description: 'Takes a minute.', input: z.object({}), effects: 'read',
  run: () => new Promise((resolve) => setTimeout(resolve, 60_000)),
});
`;

test('what is said of tools holds for those of the service, of the directory and of an MCP server, in the catalogue and in calls', async () => {
  const folder = await createFolder();
  await mkdir(join(folder, 'tools'));
  await writeFile(join(folder, 'tools/hosted.ts'), HOSTED);
  const { service, tools } = await startConfigLab(
    {
      mcpServers: { far: serverOf('far', ['say', 'hush']) },
      tools: {
        '*slow': { timeoutMs: 300 },
        'far_*': { timeoutMs: 400, retries: 0 },
        far_hush: { enabled: false },
        read_file: { enabled: false },
        echo: { maxCallsPerSession: 1 },
        fetch_url: { concurrency: 1 },
      },
    },
    { TOOLS_DIR: join(folder, 'tools') },
    [slow],
  );
  const catalogue = await tools();
  const limitsOf = (name: string) => catalogue.get(name)?.limits;
  expect(limitsOf('slow')?.timeout_ms).toBe(300);
  expect(limitsOf('hosted_slow')?.timeout_ms).toBe(300);
  expect(limitsOf('far_say')).toMatchObject({ timeout_ms: 400, retries: 0 });
  expect(limitsOf('echo')?.max_calls_per_session).toBe(1);
  expect(limitsOf('fetch_url')?.concurrency).toBe(1);
  expect(limitsOf('list_files')).toMatchObject({ timeout_ms: 30_000, retries: 3 });
  expect(catalogue.get('read_file')).toMatchObject({
    available: false,
    unavailable_reason: "The configuration file disables it: tools['read_file'].enabled is false.",
  });
  expect(catalogue.get('far_hush')?.available).toBe(false);

  const results = await service.call([
    { id: '1', name: 'slow', arguments: {} },
    { id: '2', name: 'hosted_slow', arguments: {} },
    { id: '3', name: 'far_say', arguments: { wait_ms: 60_000 } },
    { id: '4', name: 'far_say', arguments: {} },
    { id: '5', name: 'far_hush', arguments: {} },
    { id: '6', name: 'read_file', arguments: { path: 'notes.md' } },
  ]);
  expect(results.map(({ error }) => error?.code ?? null)).toEqual([
    'timeout',
    'timeout',
    'timeout',
    null,
    'unknown_tool',
    'unknown_tool',
  ]);
  expect(results[3]?.value).toMatchObject({ word: 'far' });
});

const failing = defineTool({
  name: 'failing',
  description: 'Fails.',
  input: z.object({}),
  effects: 'read',
  run: () => {
    throw new Error('no');
  },
});

test('an override comes into force with the next call after a change, and goes with the one after that', async () => {
  const { service, change } = await startConfigLab({ tools: { failing: { retries: 0 } } }, {}, [failing]);
  const codesIn = async (session: string) => {
    const call = [{ id: '1', name: 'failing', arguments: {} }];
    const rounds = [
      await service.call(call, { session_id: session }),
      await service.call(call, { session_id: session }),
    ];
    return rounds.map(([result]) => result?.error?.code);
  };
  expect(await codesIn('a')).toEqual(['tool_exception', 'retry_budget_exhausted']);
  expect(await change({ tools: {} })).toMatchObject({ added: [], changed: [], removed: [], overrides: 0 });
  expect(await codesIn('b')).toEqual(['tool_exception', 'tool_exception']);
  await change({ tools: { failing: { enabled: false } } });
  const [result] = await service.call([{ id: '1', name: 'failing', arguments: {} }]);
  expect(result?.error?.code).toBe('unknown_tool');
});

test('effects that are declared otherwise are shown and logged', async () => {
  const { tools, linesOf } = await startConfigLab({ tools: { failing: { effects: 'write' } } }, {}, [failing]);
  expect((await tools()).get('failing')?.effects).toBe('write');
  expect(linesOf('effects of a tool set by the configuration file')).toMatchObject([
    { tool: 'failing', declared: 'read', effects: 'write' },
  ]);
});

test('an entry that no tool is called like is told of once, with the names that may have been meant', async () => {
  const { change, linesOf } = await startConfigLab({ tools: { raed_file: { retries: 0 }, 'fetch_*': { retries: 0 } } });
  const message = 'entry of the configuration file matches no tool';
  await vi.waitFor(() => expect(linesOf(message)).toHaveLength(1), DEADLINE);
  expect(linesOf(message)).toMatchObject([{ override: 'raed_file', nearest: ['read_file'] }]);
  await change({ tools: { 'nothing_*': {} } });
  await vi.waitFor(() => expect(linesOf(message)).toHaveLength(2), DEADLINE);
});
