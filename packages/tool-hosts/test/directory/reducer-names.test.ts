import { toolThat } from '@recourse/test-support/misbehaving-tools.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { createBuiltinReducers } from 'recourse-server/internal/tools/builtin-reducers.ts';
import { defineTool } from 'recourse-server/internal/tools/define-tool.ts';
import { createToolRegistry } from 'recourse-server/internal/tools/registry.ts';
import { expect, test } from 'vitest';
import { type WatchedDirectory, watchDirectory } from './watched-directory.ts';

const BUILT_IN = ['failures_by_tool', 'last_success', 'timeline'];

const reducersOf = ({ registry }: WatchedDirectory): readonly string[] =>
  registry
    .reducers()
    .filter(({ source }) => source !== 'builtin')
    .map(({ name, source }) => `${name} ${source}`);

const becomes = (tools: WatchedDirectory, expected: readonly string[]): Promise<void> =>
  expect.poll(() => reducersOf(tools), { timeout: timeLimit(10_000), interval: 5 }).toEqual(expected);

const warnings = ({ log }: WatchedDirectory) => log.filter(({ level }) => level === 'warn');

test('reducers of a directory are found beside its tools, and are no tools', async () => {
  const tools = await watchDirectory({ 'a.ts': 'tool a\nreducer spent', 'deep/b.ts': 'reducer best' });
  expect(reducersOf(tools)).toEqual(['best TOOLS_DIR/deep/b.ts', 'spent TOOLS_DIR/a.ts']);
  expect(tools.registry.reducers().map(({ name }) => name)).toEqual([
    'best',
    'failures_by_tool',
    'last_success',
    'spent',
    'timeline',
  ]);
  expect(tools.registry.find('spent')).toBeUndefined();
  expect(tools.registry.find('timeline')).toBeUndefined();
  expect(tools.registry.list().map(({ name }) => name)).toEqual(['a', 'echo']);
  expect(tools.registry.describe().map(({ name }) => name)).toEqual(['a', 'echo']);
  // A file that has only a reducer has something to run.
  expect(tools.hosts.retired).toEqual([]);
  expect(tools.log.at(-1)).toEqual({
    level: 'info',
    message: 'tools directory loaded',
    tools: ['a'],
    reducers: ['best', 'spent'],
    unavailable: [],
  });
});

test('a reducer may be called like a tool, also in one file', async () => {
  const tools = await watchDirectory({ 'a.ts': 'tool search\nreducer search', 'b.ts': 'tool timeline\nreducer echo' });
  expect(tools.offered()).toEqual(['search', 'timeline']);
  expect(reducersOf(tools)).toEqual(['echo TOOLS_DIR/b.ts', 'search TOOLS_DIR/a.ts']);
  expect(tools.registry.find('search')?.role).toBe('tool');
  expect(warnings(tools)).toEqual([]);
});

test('two files with one reducer are both refused, by both names, in the log and not in the catalogue', async () => {
  const tools = await watchDirectory({ 'a.ts': 'reducer x\ntool a', 'b.ts': 'reducer x\nreducer b' });
  const reason =
    "Several files provide a reducer called 'x': a.ts, b.ts. None is available: rename all but one, or export it once.";
  expect(reducersOf(tools)).toEqual(['b TOOLS_DIR/b.ts']);
  expect(tools.offered()).toEqual(['a']);
  expect(warnings(tools)).toEqual([
    { level: 'warn', message: 'reducer is unavailable', reducer: 'x', source: 'TOOLS_DIR/a.ts', reason },
    { level: 'warn', message: 'reducer is unavailable', reducer: 'x', source: 'TOOLS_DIR/b.ts', reason },
  ]);
  tools.write('b.ts', 'reducer y\nreducer b');
  await becomes(tools, ['b TOOLS_DIR/b.ts', 'x TOOLS_DIR/a.ts', 'y TOOLS_DIR/b.ts']);
});

test('while running the reducer that serves goes on, and one of the same name is refused', async () => {
  const tools = await watchDirectory({ 'a.ts': 'reducer x' });
  const loaded = tools.loadedTimes(1);
  tools.write('b.ts', 'reducer x\nreducer b');
  await loaded;
  expect(reducersOf(tools)).toEqual(['b TOOLS_DIR/b.ts', 'x TOOLS_DIR/a.ts']);
  expect(warnings(tools).map(({ reason }) => reason)).toEqual([
    "a.ts already provides 'x' and continues to serve it. Rename the one in b.ts.",
  ]);
});

test.each(BUILT_IN)('a reducer called like the built-in %s is refused', async (name) => {
  const tools = await watchDirectory({ 'a.ts': `reducer ${name}\ntool a` });
  expect(reducersOf(tools)).toEqual([]);
  expect(tools.offered()).toEqual(['a']);
  expect(warnings(tools)).toEqual([
    {
      level: 'warn',
      message: 'reducer is unavailable',
      reducer: name,
      source: 'TOOLS_DIR/a.ts',
      reason: `The service has a built-in reducer called '${name}'. Rename the one in a.ts.`,
    },
  ]);
});

test('one reducer twice in one file is refused', async () => {
  const tools = await watchDirectory({ 'a.ts': 'reducer x\nreducer x' });
  expect(reducersOf(tools)).toEqual([]);
  expect(new Set(warnings(tools).map(({ reason }) => reason))).toEqual(
    new Set([
      "a.ts provides several reducers called 'x': a.ts. None is available: rename all but one, or export it once.",
    ]),
  );
});

test('a file that breaks leaves the last good version of its reducer serving, and the log says so', async () => {
  const tools = await watchDirectory({ 'a.ts': 'reducer x' });
  const [good] = tools.registry.reducers().filter(({ name }) => name === 'x');
  const loaded = tools.loadedTimes(1);
  tools.write('a.ts', 'throw not yet');
  await loaded;
  expect(tools.registry.reducers()).toContainEqual(good);
  expect(tools.offered()).toEqual([]);
  expect(tools.hosts.retired).toEqual([]);
  expect(warnings(tools)).toEqual([
    {
      level: 'warn',
      message: 'tool file cannot be loaded',
      file: 'a.ts',
      reason: 'Error: not yet',
      serves: 'previous version',
    },
  ]);
  tools.write('a.ts', 'reducer y');
  await becomes(tools, ['y TOOLS_DIR/a.ts']);
});

test('a failing file is not said to be outdated of a tool that shares its name with its reducer', async () => {
  const tools = await watchDirectory({ 'a.ts': 'reducer x', 'b.ts': 'tool x' });
  const loaded = tools.loadedTimes(1);
  tools.write('a.ts', 'throw not yet');
  await loaded;
  expect(tools.offered()).toEqual(['x']);
});

test('TOOLS_INLINE is for tools: a reducer of the same name stays in its process', async () => {
  const [timeline] = createBuiltinReducers();
  if (timeline === undefined) throw new Error('There is no built-in reducer.');
  const tool = defineTool({ name: 'x', description: '', effects: 'read', input: { type: 'object' }, run: () => 1 });
  const load = () => Promise.resolve([tool, { ...timeline, name: 'x' }]);
  const tools = await watchDirectory({ 'a.ts': 'inline x\nreducer x' }, { inline: { allowed: new Set(['x']), load } });
  expect(tools.registry.find('x')).toMatchObject({ runsIn: 'service', role: 'tool' });
  expect(tools.registry.reducers().find(({ name }) => name === 'x')).toMatchObject({ runsIn: 'host', role: 'reducer' });
  expect(tools.hosts.retired).toEqual([]);
});

test('a registry takes reducers among its tools, and refuses two of one name', () => {
  const registry = createToolRegistry([toolThat('timeline', () => 1), ...createBuiltinReducers()]);
  expect(registry.reducers().map(({ name }) => name)).toEqual(BUILT_IN);
  expect(registry.find('timeline')?.role).toBe('tool');
  expect(() => createToolRegistry([...createBuiltinReducers(), ...createBuiltinReducers()])).toThrow(
    "Two reducers are called 'failures_by_tool': one from builtin, one from builtin.",
  );
  const offer = { unavailable: [], outdated: new Map<string, string>() };
  expect(() => registry.offer({ ...offer, tools: createBuiltinReducers() })).toThrow('Two reducers are called');
  expect(registry.reducers().map(({ name }) => name)).toEqual(BUILT_IN);
});
