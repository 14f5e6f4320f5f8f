import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { FROM_SOURCES } from '@recourse/test-support/node-flags.ts';
import { LONG_QUERY, LONG_TEXT, startSearchLab } from '@recourse/test-support/search-lab.ts';
import { startService } from '@recourse/test-support/start-service.ts';
import { createTemporaryWorkspace } from '@recourse/test-support/temporary-workspace.ts';
import { expect, onTestFinished, test } from 'vitest';

const PROJECT = join(import.meta.dirname, '../../../..');
const TWO_DIGITS = Array.from({ length: 30 }, (_, place) => String(place).padStart(2, '0'));

/** Threads of this process that search files. */
const countThreads = async (): Promise<number> => {
  const tasks = await readdir('/proc/self/task');
  const names = tasks.map((task) => readFile(`/proc/self/task/${task}/comm`, 'utf8').catch(() => ''));
  return (await Promise.all(names)).filter((name) => name.trim() === 'file-search').length;
};

test('a tree of 900 files is searched whole, the nearer files first and by name, and the same each time', async () => {
  const files = TWO_DIGITS.flatMap((folder) =>
    TWO_DIGITS.map((file) => [`d${folder}/f${file}.md`, file === '29' ? 'a\nthe Gate' : 'nothing'] as const),
  );
  const { search } = await startSearchLab({ ...Object.fromEntries(files.toReversed()), 'z.md': 'gate' });
  const found = await search({ query: 'gate' });
  expect(found).toEqual({
    query: 'gate',
    matches: [
      { path: 'z.md', line: 1, text: 'gate' },
      ...TWO_DIGITS.map((folder) => ({ path: `d${folder}/f29.md`, line: 2, text: 'the Gate' })),
    ],
    count: 31,
  });
  expect(await search({ query: 'gate' })).toEqual(found);
});

test('while one search goes on for long, other calls and other searches are answered', async () => {
  const files = { 'long/1.txt': LONG_TEXT, 'short/a.md': 'the gate' };
  await using held = await createTemporaryWorkspace(files);
  const service = await startService({ WORKSPACE_DIR: held.root });
  onTestFinished(() => service.stop());
  const ended: string[] = [];
  const call = async (name: string, args: Readonly<Record<string, unknown>>, as: string) => {
    const [result] = await service.call([{ name, arguments: args }]);
    ended.push(as);
    return result?.value;
  };
  const long = call('search_files', { query: LONG_QUERY, path: 'long' }, 'long');
  const others = [
    call('search_files', { query: 'gate', path: 'short' }, 'short'),
    ...TWO_DIGITS.map((text) => call('echo', { text }, 'echo')),
  ];
  expect((await Promise.all(others))[0]).toMatchObject({
    matches: [{ path: 'short/a.md', line: 1, text: 'the gate' }],
  });
  expect(ended).not.toContain('long');
  expect(await long).toMatchObject({ matches: [] });
});

test('a search that its call has no time for ends with what it has found', async () => {
  const files = Object.fromEntries(TWO_DIGITS.map((name) => [`f${name}.txt`, LONG_TEXT]));
  await using held = await createTemporaryWorkspace({ ...files, 'a.txt': LONG_QUERY });
  const service = await startService({ WORKSPACE_DIR: held.root });
  onTestFinished(() => service.stop());
  const [result] = await service.call([{ name: 'search_files', arguments: { query: LONG_QUERY }, timeout_ms: 2000 }]);
  expect(result).toMatchObject({ success: true, value: { count: 1, matches: [{ path: 'a.txt' }], truncated: true } });
});

test('searches that are called off end at once, hold up no other and leave nothing open', async () => {
  const files = Object.fromEntries(TWO_DIGITS.map((name) => [`long/f${name}.txt`, LONG_TEXT]));
  const { search } = await startSearchLab({ ...files, 'short/a.md': 'the gate' });
  const short = { query: 'gate', path: 'short' };
  await search(short);
  const open = (await readdir('/proc/self/fd')).length;
  const controller = new AbortController();
  const long = TWO_DIGITS.map(() => search({ query: LONG_QUERY, path: 'long' }, controller.signal));
  await setTimeout(100);
  controller.abort(new Error('given up'));
  for (const end of await Promise.allSettled(long)) expect(end).toMatchObject({ reason: { message: 'given up' } });
  expect(await search(short)).toMatchObject({ count: 1 });
  expect((await readdir('/proc/self/fd')).length).toBeLessThanOrEqual(open + 2);
});

test('names with line ends, control characters and bytes that are no UTF-8 harm nothing', async () => {
  const { root, search } = await startSearchLab({ 'a\nb.md': 'gate', 'c\u001b[31m.md': 'gate', 'd/\u202e.md': 'gate' });
  await writeFile(Buffer.concat([Buffer.from(`${root}/e-`), Buffer.of(0xff)]), 'gate');
  expect(await search({ query: 'gate' })).toEqual({
    query: 'gate',
    matches: [
      { path: 'a\nb.md', line: 1, text: 'gate' },
      { path: 'c\u001b[31m.md', line: 1, text: 'gate' },
      { path: 'd/\u202e.md', line: 1, text: 'gate' },
    ],
    count: 3,
    unreadable_files: 1,
  });
});

test('what is one character in upper case and another or two in lower case is found as before', async () => {
  const { search } = await startSearchLab({ 'a.md': '5 \u212A\nGR\u00dc\u00dfE\n\u0130stanbul' });
  expect(await search({ query: '5 k' })).toMatchObject({ matches: [{ line: 1, text: '5 \u212A' }] });
  expect(await search({ query: 'gr\u00fc\u00dfe' })).toMatchObject({ matches: [{ line: 2 }] });
  expect(await search({ query: 'i\u0307stan' })).toMatchObject({ matches: [{ line: 3, text: '\u0130stanbul' }] });
});

test('a match across two windows of a long line is found, with what stands around it', async () => {
  const { search } = await startSearchLab({ 'a.txt': `${'x'.repeat(16_382)}gate${'y'.repeat(20_000)}` });
  expect(await search({ query: 'gate' })).toMatchObject({
    matches: [{ path: 'a.txt', line: 1, text: `…${'x'.repeat(100)}gate${'y'.repeat(196)}…` }],
  });
});

test('one thread serves all searches, ends when there was none for a while, and is started again', async () => {
  const { search } = await startSearchLab({ 'a.md': 'gate' }, { idleMs: 50 });
  expect(await countThreads()).toBe(0);
  await Promise.all(TWO_DIGITS.map(() => search({ query: 'gate' })));
  await expect.poll(countThreads).toBe(0);
  const again = search({ query: 'gate' });
  await expect.poll(countThreads, { interval: 1 }).toBe(1);
  expect(await again).toMatchObject({ count: 1 });
});

test('a search that loses its thread says so, and the next one starts another', async () => {
  const file = pathToFileURL(join(PROJECT, 'test/support/search-dying-thread.ts'));
  const { search } = await startSearchLab({ 'a.md': 'gate' }, { file });
  expect(await search({ query: 'gate' })).toMatchObject({ count: 1 });
  await expect(search({ query: 'dropdead' })).rejects.toThrow(
    expect.objectContaining({
      name: 'UpstreamToolError',
      executed: 'maybe',
      message: 'The search stopped before it ended. Call again.',
    }),
  );
  expect(await search({ query: 'gate' })).toMatchObject({ count: 1 });
});

test('close ends the searches that run and the thread, and there are no further ones', async () => {
  const { search, close } = await startSearchLab({ '1.txt': LONG_TEXT, '2.txt': LONG_TEXT });
  const long = search({ query: LONG_QUERY }).catch((thrown: unknown) => String(thrown));
  await expect.poll(countThreads, { interval: 1 }).toBe(1);
  await close();
  expect(await countThreads()).toBe(0);
  expect(await long).toBe('UpstreamToolError: The search stopped before it ended. Call again.');
  await expect(search({ query: 'gate' })).rejects.toThrow('The search stopped before it ended. Call again.');
});

const LIFE = `
  const [source, root, last] = process.argv.slice(1);
  const { createFileSearch, DEFAULT_SEARCH_LIMITS: limits, searchText } = await import(source + 'search-thread.ts');
  const { createWorkspace } = await import(source + 'workspace.ts');
  const files = createFileSearch();
  const search = { query: 'gate', path: '.', signal: new AbortController().signal, limits, timeoutMs: 30_000 };
  const { matches } = await searchText(await createWorkspace({ root }), files, search);
  process.stdout.write(JSON.stringify(matches));
  if (last === 'close') await files.close();`;

test.each(['close', 'nothing'])('a process ends by itself after %s, the thread holds nobody up', async (last) => {
  await using held = await createTemporaryWorkspace({ 'a.md': 'gate' });
  const source = pathToFileURL(join(PROJECT, 'packages/toolkit-kit/src/workspace/')).href;
  const child = spawn(process.execPath, [...FROM_SOURCES, '--input-type=module', '-e', LIFE, source, held.root, last]);
  const said: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => said.push(chunk));
  const [code] = await once(child, 'close');
  expect([code, Buffer.concat(said).toString()]).toEqual([0, '[{"path":"a.md","line":1,"text":"gate"}]']);
});
