import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { findMemoryEnd, limitMemory } from '#src/command-cgroups.ts';
import { describeKilled } from '#src/describe-failure.ts';

/** A directory with these files, as a control group has them. */
const makeDirectory = (files: Readonly<Record<string, string>>): string => {
  const directory = mkdtempSync(join(tmpdir(), 'recourse-group-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
  return directory;
};

const readAll = (directory: string, names: readonly string[]): readonly string[] =>
  names.map((name) => readFileSync(join(directory, name), 'latin1').trim());

test('a group of version 2 gets 32 MiB more than the command, no swap, and ends as a whole', () => {
  const files = { 'memory.max': 'max\n', 'memory.swap.max': '9\n', 'memory.oom.group': '0\n' };
  const directory = makeDirectory(files);
  expect(limitMemory(directory, 536_870_912)).toBe(true);
  expect(readAll(directory, Object.keys(files))).toEqual(['570425344', '0', '1']);
});

test('what is no group for memory, or does not take the limit, limits nothing', () => {
  const directory = makeDirectory({ 'pids.max': 'max\n' });
  expect(limitMemory(directory, 536_870_912)).toBe(false);
  expect(() => readFileSync(join(directory, 'memory.max'))).toThrow('ENOENT');
  // Longer than what is written: what is read again is another number.
  expect(limitMemory(makeDirectory({ 'memory.max': '9223372036854771712\n' }), 536_870_912)).toBe(false);
});

const EVENTS = 'low 0\nhigh 0\nmax 40\n';

test.each([
  ['nothing was ended', { 'memory.events': `${EVENTS}oom 0\noom_kill 0\n` }, null],
  ['only an attempt was refused', { 'memory.events': `${EVENTS}oom 2\noom_kill 0\n` }, null],
  ['its own limit', { 'memory.events': `${EVENTS}oom 1\noom_kill 3\noom_group_kill 1\n` }, 'memory'],
  ['one further out', { 'memory.events': `${EVENTS}oom 0\noom_kill 3\noom_group_kill 1\n` }, 'memory outside'],
  ['no group', {}, null],
])('why a group was ended: %s', (_what, files, end) => {
  expect(findMemoryEnd(makeDirectory(files))).toBe(end);
});

test('a limit further out is not taken for that of the command', () => {
  const limits = { workspaceDir: '/', bwrapPath: '/', timeoutMs: 1, cpuSeconds: 1, memoryMb: 512 };
  expect(describeKilled('memory outside', { ...limits, maxProcesses: 1, outputBytes: 1, epoll: 'refused' })).toEqual({
    message:
      'Command killed: the machine, or the container of this service, had no more memory. What it did before that remains done. Work on less data at once, or later.',
    limit: 'memory',
  });
});
