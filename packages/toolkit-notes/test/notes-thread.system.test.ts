import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { FROM_SOURCES } from '@recourse/test-support/node-flags.ts';
import { expect, test } from 'vitest';
import { createNotesIndex } from '#src/notes-index.ts';
import { startNotesLab } from './notes-lab.ts';

const ALL = { folder: '.', offset: 0, limit: 10 } as const;
const word = (text: string) => ({ ...ALL, terms: [{ text, isPrefix: false }], wantsAny: false });

test('a call that loses its thread is told so, and the next one starts it again', async () => {
  await using lab = await startNotesLab({ 'a.md': 'alpha' });
  const lines: unknown[] = [];
  const say = (fields: unknown, message: string) => void lines.push({ fields, message });
  const log = { info: say, warn: say, error: say };
  const index = createNotesIndex(log, { worker: pathToFileURL(join(import.meta.dirname, 'dying-thread.ts')) });
  const asking = { root: lab.root, signal: new AbortController().signal, progress: () => undefined };
  expect(await index.search(word('alpha'), asking)).toMatchObject({ items: [{ path: 'a.md' }] });
  await expect(index.search(word('dropdead'), asking)).rejects.toThrow(
    expect.objectContaining({
      name: 'UpstreamToolError',
      executed: 'maybe',
      message: 'The index of notes stopped before it answered. Call again.',
    }),
  );
  expect(lines).toEqual([
    { fields: { reason: expect.any(String) }, message: 'the index of notes stopped; the next call restarts it' },
  ]);
  expect(await index.search(word('alpha'), asking)).toMatchObject({ items: [{ path: 'a.md' }] });
  await index.close();
});

test('the first search waits for the index, hears how far it is, and misses nothing', async () => {
  const files = Array.from({ length: 400 }, (_, number) => [`n${number}.md`, `number${number} ${'word '.repeat(300)}`]);
  await using lab = await startNotesLab(Object.fromEntries(files));
  const index = createNotesIndex({ info: () => undefined, warn: () => undefined, error: () => undefined });
  const told: unknown[] = [];
  const asking = {
    root: lab.root,
    signal: new AbortController().signal,
    progress: (update: unknown) => void told.push(update),
  };
  expect(await index.search(word('number399'), asking)).toMatchObject({ items: [{ path: 'n399.md' }] });
  expect(told.at(-1)).toEqual({ progress: 400, total: 400, message: 'Indexing notes' });
  await index.close();
});

test('a call that is given up rejects with its reason, and the others go on', async () => {
  await using lab = await startNotesLab({ 'a.md': 'alpha' });
  const controller = new AbortController();
  const call = lab.call('search_notes', { query: 'alpha' }, controller.signal);
  const reason = new Error('given up');
  controller.abort(reason);
  await expect(call).rejects.toBe(reason);
  expect(await lab.find('alpha')).toEqual(['a.md']);
});

test('a search that is given up before its turn is never run', async () => {
  await using lab = await startNotesLab({ 'a.md': 'alpha' });
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const index = createNotesIndex(log, { worker: pathToFileURL(join(import.meta.dirname, 'dying-thread.ts')) });
  const controller = new AbortController();
  const asking = { root: lab.root, signal: new AbortController().signal, progress: () => undefined };
  const first = index.search(word('alpha'), asking);
  // It would end the thread.
  const given = index.search(word('dropdead'), { ...asking, signal: controller.signal });
  const last = index.search(word('alpha'), asking);
  controller.abort(new Error('given up'));
  await expect(given).rejects.toThrow('given up');
  expect(await first).toMatchObject({ items: [{ path: 'a.md' }] });
  expect(await last).toMatchObject({ items: [{ path: 'a.md' }] });
  await index.close();
});

test('where a hundred calls wait, the next is told to come again', async () => {
  await using lab = await startNotesLab({ 'a.md': 'alpha' });
  const index = createNotesIndex({ info: () => undefined, warn: () => undefined, error: () => undefined });
  const asking = { root: lab.root, signal: new AbortController().signal, progress: () => undefined };
  const calls = Array.from({ length: 100 }, () => index.search(word('alpha'), asking));
  await expect(index.list(ALL, asking)).rejects.toThrow(
    expect.objectContaining({
      name: 'UpstreamToolError',
      executed: 'no',
      retryAfterMs: 1000,
      message: 'Too many calls are waiting for the index of notes. Call again in a second.',
    }),
  );
  expect(await Promise.all(calls)).toHaveLength(100);
  expect(await index.list(ALL, asking)).toMatchObject({ items: [{ path: 'a.md' }] });
  await index.close();
});

test('after close every call says that the index stopped', async () => {
  await using lab = await startNotesLab({ 'a.md': 'alpha' });
  await lab.close();
  await expect(lab.call('list_notes')).rejects.toThrow('The index of notes stopped before it answered. Call again.');
});

const LIFE = `
  const { createNotes } = await import(process.argv[1]);
  const log = { info: () => {}, warn: () => {}, error: () => {} };
  const { tools, close } = createNotes({ directory: process.argv[2], log });
  const list = tools.find(({ name }) => name === 'list_notes');
  const signal = new AbortController().signal;
  const { display } = await list.prepare({}).invocation.run({ signal, progress: () => {} });
  process.stdout.write(display);
  if (process.argv[3] === 'close') await close();`;

test.each(['close', 'nothing'])('a process ends by itself after %s, the thread holds nobody up', async (last) => {
  await using lab = await startNotesLab({ 'a.md': 'alpha' });
  const source = pathToFileURL(join(import.meta.dirname, '../src/notes-tools.ts')).href;
  const child = spawn(process.execPath, [...FROM_SOURCES, '--input-type=module', '-e', LIFE, source, lab.root, last]);
  const said: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => said.push(chunk));
  const [code] = await once(child, 'close');
  expect([code, Buffer.concat(said).toString()]).toEqual([0, '1 note found.']);
});
