import { toolThat } from '@recourse/test-support/misbehaving-tools.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { createToolRegistry } from 'recourse-server/internal/tools/registry.ts';
import type { ToolOffer } from 'recourse-server/internal/tools/tool-offer.ts';
import { expect, onTestFinished, test } from 'vitest';
import { ToolDirectory } from '#src/directory/tool-directory.ts';
import { createScriptedHosts } from './scripted-hosts.ts';
import { watchDirectory } from './watched-directory.ts';

const toOffer = (...names: readonly string[]): ToolOffer => ({
  tools: names.map((name) => toolThat(name, () => 1, { source: `source of ${name}` })),
  unavailable: [],
  outdated: new Map(),
});

test('a tool is found by its portable name as well, and that is told apart from its own', () => {
  const registry = createToolRegistry([toolThat('a.b', () => 1), toolThat('plain', () => 1)]);
  expect(registry.findPortable('a_b')?.name).toBe('a.b');
  expect(registry.findPortable('a.b')).toBeUndefined();
  expect(registry.find('a_b')).toBeUndefined();
  expect(registry.findPortable('plain')?.name).toBe('plain');
  registry.offer(toOffer('7z'));
  expect(registry.findPortable('_7z')?.name).toBe('7z');
  registry.offer(toOffer());
  expect(registry.findPortable('_7z')).toBeUndefined();
});

test('two tools of one portable name are refused, both sources are named, and nothing changes', () => {
  const registry = createToolRegistry([toolThat('a.b', () => 1)]);
  const reason = "Two tools map to the portable name 'a_b': 'a.b' from builtin, 'a_b' from source of a_b.";
  expect(() => registry.offer(toOffer('other', 'a_b'))).toThrow(reason);
  expect(registry.list().map(({ name }) => name)).toEqual(['a.b']);
  expect(() => createToolRegistry([toolThat('7', () => 1), toolThat('_7', () => 1)])).toThrow(
    "Two tools map to the portable name '_7': '7' from builtin, '_7' from builtin.",
  );
});

test('files that come to one portable name are both refused at start, and their other tools serve', async () => {
  const reason =
    "Several files provide a tool called 'a_b': a.ts, b.ts. None is available: rename all but one, or export it once.";
  const tools = await watchDirectory({ 'a.ts': 'tool a.b\ntool a', 'b.ts': 'tool a_b\ntool b' });
  expect(tools.offered()).toEqual(['a', `-a.b: ${reason}`, `-a_b: ${reason}`, 'b']);
  tools.write('b.ts', 'tool c\ntool b');
  await tools.becomes(['a', 'a.b', 'b', 'c']);
});

test('while running the one that serves goes on, and the newcomer of its portable name is refused', async () => {
  const reason = "a.ts already provides 'a.b' and continues to serve it. Rename the one in b.ts.";
  const tools = await watchDirectory({ 'a.ts': 'tool a.b' });
  tools.write('b.ts', 'tool a_b');
  await tools.becomes(['a.b', `-a_b: ${reason}`]);
  tools.remove('a.ts');
  await tools.becomes(['a_b']);
});

test("a tool that comes to the name of one of the service's own is refused", async () => {
  const offers: ToolOffer[] = [];
  const tools = new ToolDirectory({
    root: makeDirectory({ 'a.ts': 'tool read.file\ntool a' }).root,
    hosts: createScriptedHosts(),
    register: (offer) => void offers.push(offer),
    taken: [{ role: 'tool', name: 'read_file' }],
    inline: { allowed: new Set(), load: () => Promise.resolve([]) },
    log: { info: () => undefined, warn: () => undefined },
  });
  onTestFinished(() => tools.stop());
  await tools.start();
  expect(offers[0]?.tools.map(({ name }) => name)).toEqual(['a']);
  expect(offers[0]?.unavailable.map(({ facts, reason }) => [facts.name, reason])).toEqual([
    ['read.file', "The service has a built-in tool called 'read_file'. Rename the one in a.ts."],
  ]);
});
