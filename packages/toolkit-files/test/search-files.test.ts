import { execFileSync } from 'node:child_process';
import { linkSync } from 'node:fs';
import { link, symlink, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { runTool } from '@recourse/test-support/run-tool.ts';
import { createTemporaryWorkspace } from '@recourse/test-support/temporary-workspace.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import type { SearchLimits } from '@recourse/toolkit-kit/workspace/search-thread';
import { createFileSearch } from '@recourse/toolkit-kit/workspace/search-thread';
import type { Workspace } from '@recourse/toolkit-kit/workspace/workspace';
import { afterAll, expect, test } from 'vitest';
import { createSearchFiles as createTool } from '#src/search-files.ts';

const files = createFileSearch();
afterAll(files.close);
const createSearchFiles = (workspace: Workspace, limits?: SearchLimits) =>
  createTool(workspace, limits === undefined ? { files } : { files, limits });

const LIMITS = {
  maxEntries: 1000,
  maxNameCharacters: 10_000,
  maxFileBytes: 1000,
  maxTotalBytes: 10_000,
  maxMatches: 10,
  maxMs: 10_000,
};

test('matches are given with path, line and text, the nearer files first', async () => {
  await using held = await createTemporaryWorkspace({
    'minutes/june.md': 'Rain\r\nThe GATE is open\r\n',
    'notes.md': 'the gate\nno match\nGate again',
    'todo.txt': 'paint the fence',
  });
  expect(await runTool(createSearchFiles(held.workspace), { query: 'gate' })).toEqual({
    query: 'gate',
    matches: [
      { path: 'notes.md', line: 1, text: 'the gate' },
      { path: 'notes.md', line: 3, text: 'Gate again' },
      { path: 'minutes/june.md', line: 2, text: 'The GATE is open' },
    ],
    count: 3,
  });
});

test('nothing found is an empty success', async () => {
  await using held = await createTemporaryWorkspace({ 'notes.md': 'the gate' });
  expect(await runTool(createSearchFiles(held.workspace), { query: 'window' })).toMatchObject({
    message: 'No matches found.',
    value: { query: 'window', matches: [], count: 0 },
  });
});

test('a path narrows the search to a directory or a file', async () => {
  await using held = await createTemporaryWorkspace({ 'a/x.md': 'gate', 'b/x.md': 'gate', 'b/y.md': 'gate' });
  const searchFiles = createSearchFiles(held.workspace);
  expect(await runTool(searchFiles, { query: 'gate', path: 'b' })).toMatchObject({
    matches: [{ path: 'b/x.md' }, { path: 'b/y.md' }],
  });
  expect(await runTool(searchFiles, { query: 'gate', path: 'b/y.md' })).toMatchObject({
    matches: [{ path: 'b/y.md' }],
  });
});

test('a query that would be a murderous regular expression is plain text', async () => {
  const line = `${'a'.repeat(100_000)}!`;
  await using held = await createTemporaryWorkspace({ 'a.txt': line, 'b.txt': 'the pattern (a+)+$ is slow' });
  const started = performance.now();
  expect(await runTool(createSearchFiles(held.workspace), { query: '(a+)+$' })).toMatchObject({
    matches: [{ path: 'b.txt', line: 1, text: 'the pattern (a+)+$ is slow' }],
  });
  expect(performance.now() - started).toBeLessThan(timeLimit(1000));
});

test('a long line is cut around the match', async () => {
  await using held = await createTemporaryWorkspace({ 'a.txt': `${'x'.repeat(5000)}gate${'y'.repeat(5000)}` });
  expect(await runTool(createSearchFiles(held.workspace), { query: 'gate' })).toMatchObject({
    matches: [{ text: `…${'x'.repeat(100)}gate${'y'.repeat(196)}…` }],
  });
});

test('binary files, symbolic links, .git and node_modules are passed over', async () => {
  await using held = await createTemporaryWorkspace({
    'image.png': Buffer.from('\0gate'),
    '.git/config': 'gate',
    'node_modules/x/index.js': 'gate',
    'latin-1.txt': Buffer.from('Gr\u00fc\u00dfe from the gate', 'latin1'),
  });
  await symlink(held.outside, join(held.root, 'out'));
  await symlink('.', join(held.root, 'circle'));
  await symlink('latin-1.txt', join(held.root, 'link.txt'));
  const searchFiles = createSearchFiles(held.workspace);
  expect(await runTool(searchFiles, { query: 'gate' })).toEqual({
    query: 'gate',
    matches: [{ path: 'latin-1.txt', line: 1, text: 'Gr\ufffd\ufffde from the gate' }],
    count: 1,
  });
  expect(await runTool(searchFiles, { query: 'secret' })).toMatchObject({ value: { count: 0 } });
  expect(await runTool(searchFiles, { query: 'gate', path: '.git' })).toMatchObject({ count: 1 });
});

test('a FIFO does not hang the search, and a hard link is counted as not searched', async () => {
  await using held = await createTemporaryWorkspace({ 'notes.md': 'gate' });
  execFileSync('mkfifo', [join(held.root, 'pipe')]);
  await link(join(held.outside, 'secret.txt'), join(held.root, 'linked.txt'));
  const searchFiles = createSearchFiles(held.workspace);
  expect(await runTool(searchFiles, { query: 'gate' })).toMatchObject({ count: 1, unreadable_files: 1 });
  expect(await runTool(searchFiles, { query: 'secret' })).toMatchObject({ value: { count: 0, unreadable_files: 1 } });
});

test('only the start of a huge file is searched, and the answer says so', async () => {
  await using held = await createTemporaryWorkspace({ 'huge.log': `gate\n${'x'.repeat(3_000_000)}` });
  await truncate(join(held.root, 'huge.log'), 50_000_000_000);
  expect(await runTool(createSearchFiles(held.workspace), { query: 'gate' })).toMatchObject({
    matches: [{ path: 'huge.log', line: 1, text: 'gate' }],
    truncated: true,
  });
});

test('behind a file that is too large the search goes on, and is said not to be whole', async () => {
  await using held = await createTemporaryWorkspace({ 'a.md': 'x'.repeat(1001), 'b/c.md': 'gate' });
  expect(await runTool(createSearchFiles(held.workspace, LIMITS), { query: 'gate' })).toMatchObject({
    matches: [{ path: 'b/c.md' }],
    truncated: true,
  });
});

test('no more matches than the limit are given, and truncated only where there are more', async () => {
  await using held = await createTemporaryWorkspace({ 'a.md': 'gate\n'.repeat(6), 'b.md': 'gate\n'.repeat(4) });
  const whole = await runTool(createSearchFiles(held.workspace, LIMITS), { query: 'gate' });
  expect(whole).toMatchObject({ count: 10 });
  expect(whole).not.toHaveProperty('truncated');
  const cut = createSearchFiles(held.workspace, { ...LIMITS, maxMatches: 9 });
  expect(await runTool(cut, { query: 'gate' })).toMatchObject({ count: 9, truncated: true });
  const one = createSearchFiles(held.workspace, { ...LIMITS, maxMatches: 5 });
  expect(await runTool(one, { query: 'gate', path: 'a.md' })).toMatchObject({ count: 5, truncated: true });
});

test.each([
  ['names', { ...LIMITS, maxEntries: 1 }],
  ['characters of names', { ...LIMITS, maxNameCharacters: 7 }],
  ['bytes', { ...LIMITS, maxTotalBytes: 3 }],
  ['time', { ...LIMITS, maxMs: 0 }],
  ['bytes of one file', { ...LIMITS, maxFileBytes: 3 }],
])(
  'a search that ends at the limit of %s without a match is empty and says that it is not whole',
  async (_of, limits) => {
    await using held = await createTemporaryWorkspace({ 'a.md': 'xxxx', 'b.md': '' });
    expect(await runTool(createSearchFiles(held.workspace, limits), { query: 'gate' })).toMatchObject({
      message: 'No matches found before a limit was reached; search a smaller path.',
      value: { count: 0, truncated: true },
    });
  },
);

test('an abort ends a search that is under way', async () => {
  await using held = await createTemporaryWorkspace();
  // Far more than fifty milliseconds' work; the names alone are read in five.
  for (let index = 0; index < 5000; index += 1)
    linkSync(join(held.outside, 'secret.txt'), join(held.root, `f-${index}`));
  const searching = runTool(createSearchFiles(held.workspace), { query: 'gate' }, AbortSignal.timeout(50));
  await expect(searching).rejects.toThrow(expect.objectContaining({ name: 'TimeoutError' }));
});

test('the limit of names holds for all directories together', async () => {
  await using held = await createTemporaryWorkspace({ 'a/1': '', 'b/1': '', 'c/1': 'gate' });
  const search = (maxEntries: number) =>
    runTool(createSearchFiles(held.workspace, { ...LIMITS, maxEntries }), { query: 'gate' });
  expect(await search(6)).toMatchObject({ count: 1 });
  expect(await search(5)).toMatchObject({ value: { count: 0, truncated: true } });
});

test.each([
  ['', 'query: '],
  ['two\nlines', 'query: must be one line'],
  ['x'.repeat(1001), 'query: '],
])('the query %j is refused by the schema', async (query, text) => {
  await using held = await createTemporaryWorkspace();
  await expect(runTool(createSearchFiles(held.workspace), { query })).rejects.toThrow(text);
});

test('one binary file, a missing path and a path outside are refused', async () => {
  await using held = await createTemporaryWorkspace({ 'image.png': Buffer.from('\0gate'), 'notes.md': '' });
  const searchFiles = createSearchFiles(held.workspace);
  await expect(runTool(searchFiles, { query: 'gate', path: 'image.png' })).rejects.toThrow(
    expect.objectContaining({
      name: 'RetryableToolError',
      message: "'image.png' is binary. Choose a text file or a directory.",
    }),
  );
  await expect(runTool(searchFiles, { query: 'gate', path: 'note.md' })).rejects.toThrow(
    expect.objectContaining({
      name: 'FileNotFoundError',
      message: "there is no file or directory 'note.md' in the workspace. Did you mean 'notes.md'?",
    }),
  );
  await expect(runTool(searchFiles, { query: 'secret', path: '../ws-evil' })).rejects.toThrow(
    expect.objectContaining({ name: 'RetryableToolError' }),
  );
});
