import { renameSync } from 'node:fs';
import { join, relative } from 'node:path';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import type { Tool } from 'recourse-server/internal/tools/tool.ts';
import { expect, test } from 'vitest';
import { type WatchedDirectory, watchDirectory } from './watched-directory.ts';

const fileOf = (tool: Tool | undefined) => {
  if (tool?.runsIn !== 'host') throw new Error(`${tool?.name} does not run in a host.`);
  return tool.file;
};

const retiredNames = ({ hosts, root }: WatchedDirectory): readonly string[] =>
  hosts.retired.map(({ path }) => relative(root, path));

test('at start every file is loaded, at any depth; helpers and files without tools are no error', async () => {
  const tools = await watchDirectory({
    'weather.ts': 'tool forecast\ntool warnings\nimport ./units.ts',
    'billing/invoices.mjs': 'tool list_invoices',
    'units.ts': '',
    'units.test.ts': 'throw a test is not loaded',
  });
  expect(tools.offered()).toEqual(['forecast', 'list_invoices', 'warnings']);
  expect([...tools.hosts.loaded].sort()).toEqual(['billing/invoices.mjs', 'units.ts', 'weather.ts']);
  expect(tools.registry.find('forecast')).toMatchObject({ runsIn: 'host', source: 'TOOLS_DIR/weather.ts' });
  expect(tools.registry.find('list_invoices')?.source).toBe('TOOLS_DIR/billing/invoices.mjs');
  expect(fileOf(tools.registry.find('forecast'))).toBe(fileOf(tools.registry.find('warnings')));
  // No process is kept for a file that has nothing to run.
  expect(retiredNames(tools)).toEqual(['units.ts']);
});

test('a directory that cannot be read ends the start with one sentence', async () => {
  const { root } = makeDirectory();
  await expect(watchDirectory({}, { root: join(root, 'none') })).rejects.toThrow(
    `TOOLS_DIR ${root}/none does not exist.`,
  );
});

test('files are loaded together, and not more of them than allowed', async () => {
  const files = Object.fromEntries(Array.from({ length: 9 }, (_, number) => [`f${number}.ts`, `tool t${number}`]));
  const tools = await watchDirectory(files, { loadsAtOnce: 3 });
  expect(tools.hosts.mostAtOnce()).toBe(3);
  expect(tools.offered()).toHaveLength(9);
});

test('a file that fails makes only its own tools unavailable, in one line without paths of the host', async () => {
  const tools = await watchDirectory({
    'good.ts': 'tool good',
    'deep/my weather.ts': 'throw boom\u0007 in file:///srv/secret/place.ts',
  });
  expect(tools.offered()).toEqual(['good', '-my_weather: Error: boom in …/place.ts']);
  expect(tools.registry.find('my_weather')).toBeUndefined();
  expect(tools.registry.list().map(({ name }) => name)).toEqual(['echo', 'good']);
  expect(tools.registry.describe().find(({ available }) => !available)).toEqual({
    name: 'my_weather',
    description: 'Its file cannot be loaded, so nothing is known of the tool.',
    effects: 'write',
    input_schema: { type: 'object' },
    output_schema: null,
    limits: { timeout_ms: 30_000, retries: 0, concurrency: null, max_calls_per_session: null },
    available: false,
    unavailable_reason: 'Error: boom in …/place.ts',
    source: 'TOOLS_DIR/deep/my weather.ts',
  });
  expect(tools.log.filter(({ level }) => level === 'warn')).toEqual([
    {
      level: 'warn',
      message: 'tool file cannot be loaded',
      file: 'deep/my weather.ts',
      reason: 'Error: boom in …/place.ts',
      serves: 'none',
    },
  ]);
});

test('a reason is kept as far as it is looked at for secrets: 500 characters that are shown, and 4 096 more', async () => {
  const tools = await watchDirectory({ 'a.ts': `throw ${'x'.repeat(9_000)}` });
  // The catalogue cuts it, when secrets have been taken out.
  expect(tools.offered()).toEqual([`-a: Error: ${'x'.repeat(4589)}`]);
});

test('a file that is added, changed, renamed or removed is picked up, and what did not change is left alone', async () => {
  const tools = await watchDirectory({ 'a.ts': 'tool a', 'b.ts': 'tool b' });
  const bystander = tools.registry.find('a');
  tools.write('c.ts', 'tool c');
  await tools.becomes(['a', 'b', 'c']);
  const old = fileOf(tools.registry.find('b'));
  tools.write('b.ts', 'tool b\ntool b2');
  await tools.becomes(['a', 'b', 'b2', 'c']);
  expect(fileOf(tools.registry.find('b'))).not.toBe(old);
  expect(tools.hosts.retired).toEqual([old]);
  renameSync(join(tools.root, 'c.ts'), join(tools.root, 'd.ts'));
  await expect.poll(() => tools.registry.find('c')?.source).toBe('TOOLS_DIR/d.ts');
  expect(tools.offered()).toEqual(['a', 'b', 'b2', 'c']);
  tools.remove('b.ts');
  await tools.becomes(['a', 'c']);
  expect(tools.hosts.loaded).toEqual(['a.ts', 'b.ts', 'c.ts', 'b.ts', 'd.ts']);
  expect(retiredNames(tools)).toEqual(['b.ts', 'c.ts', 'b.ts']);
  expect(tools.registry.find('a')).toEqual(bystander);
  expect(fileOf(tools.registry.find('a'))).toBe(fileOf(bystander));
  expect(tools.retiredTooEarly).toEqual([]);
});

test('a file is loaded only once it stands still', async () => {
  const tools = await watchDirectory({ 'a.ts': 'tool a' });
  let text = 'tool saved\n';
  const until = performance.now() + 300;
  // In every turn of the event loop, so between any two looks at the directory.
  for (let turn = 0; turn < 1000 || performance.now() < until; turn += 1) {
    text += '//\n';
    tools.write('a.ts', text);
    await new Promise(setImmediate);
  }
  expect(tools.hosts.loaded).toEqual(['a.ts']);
  await tools.becomes(['saved']);
  expect(tools.hosts.loaded).toEqual(['a.ts', 'a.ts']);
});

test('a change of a file that others import loads those again, through any number of files', async () => {
  const tools = await watchDirectory({
    'a.ts': 'tool a\nimport ./lib/one.ts',
    'b.ts': 'tool b',
    'lib/one.ts': 'import ./two.cts',
    'lib/two.cts': '',
  });
  tools.hosts.loaded.length = 0;
  const loaded = tools.loadedTimes(1);
  tools.write('lib/two.cts', '// changed');
  await loaded;
  expect([...tools.hosts.loaded].sort()).toEqual(['a.ts', 'lib/one.ts']);
  expect([...retiredNames(tools)].sort()).toEqual(['a.ts', 'lib/one.ts', 'lib/one.ts']);
});

test('a broken change leaves the last good version serving, and says so; mending or undoing it ends that', async () => {
  const tools = await watchDirectory({ 'a.ts': 'tool a' });
  const good = fileOf(tools.registry.find('a'));
  tools.write('a.ts', 'throw not yet');
  await tools.becomes(['a (Error: not yet)']);
  expect(fileOf(tools.registry.find('a'))).toBe(good);
  expect(good.sources.get(join(tools.root, 'a.ts'))).toBe('tool a');
  expect(tools.hosts.retired).toEqual([]);
  expect(tools.log.findLast(({ level }) => level === 'warn')).toMatchObject({
    message: 'tool file cannot be loaded',
    file: 'a.ts',
    reason: 'Error: not yet',
    serves: 'previous version',
  });
  tools.write('a.ts', 'tool a');
  await tools.becomes(['a']);
  expect(fileOf(tools.registry.find('a'))).toBe(good);
  tools.write('a.ts', 'throw again');
  await tools.becomes(['a (Error: again)']);
  tools.write('a.ts', 'tool a\n// mended');
  await tools.becomes(['a']);
  expect(fileOf(tools.registry.find('a')).sources.get(join(tools.root, 'a.ts'))).toBe('tool a\n// mended');
  expect(tools.hosts.retired).toEqual([good]);
});

test('a file that failed is tried again when another file changes: it may be what was missing', async () => {
  const tools = await watchDirectory({ 'a.ts': 'tool a\nimport ./lib.cts' });
  expect(tools.offered()).toEqual(["-a: Error: Cannot find module 'lib.cts'"]);
  tools.write('lib.cts', '');
  await tools.becomes(['a']);
});

test('a helper that vanishes leaves what imports it serving', async () => {
  const tools = await watchDirectory({ 'a.ts': 'tool a\nimport ./lib.cts', 'lib.cts': '' });
  tools.remove('lib.cts');
  await tools.becomes(["a (Error: Cannot find module 'lib.cts')"]);
});

test('a file that is only touched is not loaded again', async () => {
  const tools = await watchDirectory({ 'a.ts': 'tool a' });
  const loaded = tools.loadedTimes(1);
  tools.write('a.ts', 'tool a');
  await loaded;
  expect(tools.hosts.loaded).toEqual(['a.ts']);
  expect(tools.hosts.retired).toEqual([]);
});
