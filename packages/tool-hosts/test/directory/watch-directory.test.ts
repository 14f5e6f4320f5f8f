import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import type { Tool } from 'recourse-server/internal/tools/tool.ts';
import { expect, test } from 'vitest';
import { ToolDirectory } from '#src/directory/tool-directory.ts';
import { createScriptedHosts } from './scripted-hosts.ts';
import { watchDirectory } from './watched-directory.ts';

const fileOf = (tool: Tool | undefined) => {
  if (tool?.runsIn !== 'host') throw new Error(`${tool?.name} does not run in a host.`);
  return tool.file;
};

test('a directory that is swapped as a whole, by its link, is loaded anew and keeps serving what breaks', async () => {
  const { root, write } = makeDirectory({ 'v1/a.ts': 'tool a', 'v1/b.ts': 'tool b' });
  symlinkSync('v1', join(root, 'current'));
  const tools = await watchDirectory({}, { root: join(root, 'current') });
  const old = fileOf(tools.registry.find('b'));
  write('v2/a.ts', 'tool a');
  write('v2/b.ts', 'throw broken release');
  symlinkSync('v2', join(root, 'next'));
  renameSync(join(root, 'next'), join(root, 'current'));
  await tools.becomes(['a', 'b (Error: broken release)']);
  expect(fileOf(tools.registry.find('a')).path).toBe(join(root, 'v2/a.ts'));
  expect(fileOf(tools.registry.find('b'))).toBe(old);
});

test('while the directory cannot be read everything serves on, one line says so, and it is read again later', async () => {
  const { root, write } = makeDirectory({ 'tools/a.ts': 'tool a' });
  const tools = await watchDirectory({}, { root: join(root, 'tools') });
  renameSync(join(root, 'tools'), join(root, 'away'));
  const warnings = () => tools.log.filter(({ message }) => message === 'tools directory cannot be read');
  await expect.poll(warnings).toHaveLength(1);
  mkdirSync(join(root, 'elsewhere'));
  expect(tools.offered()).toEqual(['a']);
  renameSync(join(root, 'away'), join(root, 'tools'));
  write('tools/b.ts', 'tool b');
  await tools.becomes(['a', 'b']);
  expect(warnings()).toEqual([
    {
      level: 'warn',
      message: 'tools directory cannot be read',
      reason: `Error: TOOLS_DIR ${root}/tools does not exist.`,
    },
  ]);
});

test('who looks while the tools are swapped sees all of one version', async () => {
  const script = (version: number) => ['one', 'two', 'three'].map((name) => `tool ${name}_${version}`).join('\n');
  const tools = await watchDirectory({ 'a.ts': script(0) });
  const seen = new Set<string>();
  let looking = true;
  const look = async (): Promise<void> => {
    while (looking) {
      seen.add(tools.offered().join(' '));
      await new Promise(setImmediate);
    }
  };
  const looked = look();
  for (const version of [1, 2, 3]) {
    tools.write('a.ts', script(version));
    await tools.becomes(['one', 'three', 'two'].map((name) => `${name}_${version}`));
  }
  looking = false;
  await looked;
  seen.add(tools.offered().join(' '));
  expect([...seen]).toEqual([0, 1, 2, 3].map((version) => `one_${version} three_${version} two_${version}`));
});

test('what is loaded when the directory is stopped is not published any more', async () => {
  const { root } = makeDirectory({ 'a.ts': 'tool a' });
  const published: unknown[] = [];
  const directory = new ToolDirectory({
    root,
    hosts: createScriptedHosts(),
    register: (offer) => void published.push(offer),
    taken: [],
    inline: { allowed: new Set(), load: () => Promise.resolve([]) },
    log: { info: () => undefined, warn: () => undefined },
  });
  const started = directory.start();
  directory.stop();
  await started;
  expect(published).toEqual([]);
});

test('after stop nothing is loaded, published or retired', async () => {
  const tools = await watchDirectory({ 'a.ts': 'tool a' });
  const other = await watchDirectory({ 'a.ts': 'tool a' }, { root: tools.root });
  tools.stop();
  writeFileSync(join(tools.root, 'a.ts'), 'tool b');
  await other.becomes(['b']);
  expect(tools.offered()).toEqual(['a']);
  expect(tools.hosts.loaded).toEqual(['a.ts']);
  expect(tools.hosts.retired).toEqual([]);
});

test('a file whose process broke is tried again by itself, and one that throws is not', async () => {
  const tools = await watchDirectory(
    { 'a.ts': 'tool a', 'slow.ts': 'tool slow\nbreak its process did not start within 15 s', 'wrong.ts': 'throw boom' },
    { againMs: 10 },
  );
  const broken = '-slow: its process did not start within 15 s';
  expect(tools.offered()).toEqual(['a', broken, '-wrong: Error: boom']);
  const loadsOf = (file: string) => tools.hosts.loaded.filter((one) => one === file).length;
  await expect.poll(() => loadsOf('slow.ts')).toBeGreaterThan(2);
  expect(tools.offered()).toEqual(['a', broken, '-wrong: Error: boom']);
  tools.hosts.machine.isBusy = false;
  await tools.becomes(['a', 'slow', '-wrong: Error: boom']);
  expect([loadsOf('a.ts'), loadsOf('wrong.ts')]).toEqual([1, 1]);
  // Tries that change nothing are not told.
  expect(tools.log.map(({ message, file }) => [message, file])).toEqual([
    ['tool file cannot be loaded', 'slow.ts'],
    ['tool file cannot be loaded', 'wrong.ts'],
    ['tools directory loaded', undefined],
    ['tools directory loaded', undefined],
  ]);
});
