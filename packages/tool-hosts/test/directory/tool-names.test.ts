import { toolThat } from '@recourse/test-support/misbehaving-tools.ts';
import { createToolRegistry } from 'recourse-server/internal/tools/registry.ts';
import type { ToolOffer } from 'recourse-server/internal/tools/tool-offer.ts';
import { expect, test } from 'vitest';
import { watchDirectory } from './watched-directory.ts';

const BOTH =
  "Several files provide a tool called 'x': a.ts, b.ts. None is available: rename all but one, or export it once.";
const LATE = "a.ts already provides 'x' and continues to serve it. Rename the one in b.ts.";

test('at start two files with one name are both refused, by both names, and their other tools serve', async () => {
  const tools = await watchDirectory({ 'a.ts': 'tool x\ntool a', 'b.ts': 'tool x\ntool b' });
  expect(tools.offered()).toEqual(['a', 'b', `-x: ${BOTH}`, `-x: ${BOTH}`]);
  expect(tools.registry.find('x')).toBeUndefined();
  const refused = tools.registry.describe().filter(({ name }) => name === 'x');
  expect(refused.map(({ source, effects, description }) => [source, effects, description])).toEqual([
    ['TOOLS_DIR/a.ts', 'read', 'Is called x.'],
    ['TOOLS_DIR/b.ts', 'read', 'Is called x.'],
  ]);
  expect(tools.log.filter(({ message }) => message === 'tool is unavailable')).toEqual([
    { level: 'warn', message: 'tool is unavailable', tool: 'x', source: 'TOOLS_DIR/a.ts', reason: BOTH },
    { level: 'warn', message: 'tool is unavailable', tool: 'x', source: 'TOOLS_DIR/b.ts', reason: BOTH },
  ]);
  tools.write('b.ts', 'tool y\ntool b');
  await tools.becomes(['a', 'b', 'x', 'y']);
  expect(tools.hosts.loaded).toEqual(['a.ts', 'b.ts', 'b.ts']);
});

test('while running the one that serves goes on, also over its own changes, and the newcomer is refused', async () => {
  const tools = await watchDirectory({ 'a.ts': 'tool x' });
  tools.write('b.ts', 'tool x');
  await tools.becomes(['x', `-x: ${LATE}`]);
  tools.write('a.ts', 'tool x\ntool a');
  await tools.becomes(['a', 'x', `-x: ${LATE}`]);
  tools.write('a.ts', 'throw broken');
  await tools.becomes(['a (Error: broken)', 'x (Error: broken)', `-x: ${LATE}`]);
  expect(tools.registry.find('x')?.source).toBe('TOOLS_DIR/a.ts');
  expect(tools.log.filter(({ message }) => message === 'tool is unavailable')).toHaveLength(1);
  tools.remove('a.ts');
  await tools.becomes(['x']);
  expect(tools.registry.find('x')?.source).toBe('TOOLS_DIR/b.ts');
});

test("a tool called like one of the service's own is refused, at start and later", async () => {
  const reason = (file: string) => `-echo: The service has a built-in tool called 'echo'. Rename the one in ${file}.`;
  const tools = await watchDirectory({ 'a.ts': 'tool echo\ntool a' });
  expect(tools.offered()).toEqual(['a', reason('a.ts')]);
  expect(tools.registry.find('echo')?.runsIn).toBe('service');
  tools.write('b.ts', 'tool echo');
  await tools.becomes(['a', reason('a.ts'), reason('b.ts')]);
});

test('one name twice in one file is refused', async () => {
  const tools = await watchDirectory({ 'a.ts': 'tool x\ntool x\ntool a' });
  const reason =
    "-x: a.ts provides several tools called 'x': a.ts. None is available: rename all but one, or export it once.";
  expect(tools.offered()).toEqual(['a', reason, reason]);
});

test.each(['constructor', '__proto__', 'toString', 'hasOwnProperty'])(
  'a tool may be called %s, and no other is',
  async (name) => {
    const tools = await watchDirectory({ 'a.ts': `tool ${name}`, [`${name}.ts`]: 'throw broken' });
    expect(tools.registry.find(name)?.name).toBe(name);
    expect(tools.offered()).toEqual([name, `-${name}: Error: broken`]);
    for (const other of ['valueOf', 'isPrototypeOf', '']) expect(tools.registry.find(other)).toBeUndefined();
  },
);

test.each([
  ['_unknown.ts', 'tool'],
  ['_other.mts', 'tool'],
  ['日本.ts', '__'],
  [`${'long'.repeat(40)}.ts`, 'long'.repeat(16)],
])('the file %s that cannot be loaded is listed as %s', async (file, name) => {
  const tools = await watchDirectory({ [file]: 'throw broken' });
  expect(tools.offered()).toEqual([`-${name}: Error: broken`]);
});

test('an offer with a name twice is refused by the registry and changes nothing', () => {
  const registry = createToolRegistry([toolThat('echo', () => 1)]);
  const offer = (...names: readonly string[]): ToolOffer => ({
    tools: names.map((name) => toolThat(name, () => 1)),
    unavailable: [],
    outdated: new Map(),
  });
  registry.offer(offer('a', 'b'));
  expect(() => registry.offer(offer('c', 'c'))).toThrow("Two tools are called 'c'");
  expect(() => registry.offer(offer('echo'))).toThrow("Two tools are called 'echo'");
  expect(registry.list().map(({ name }) => name)).toEqual(['a', 'b', 'echo']);
  expect(registry.describe()).toBe(registry.describe());
  registry.offer(offer());
  expect(registry.list().map(({ name }) => name)).toEqual(['echo']);
});
