import { mkdir, readdir, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test, vi } from 'vitest';
import { pathsOf, startNotesLab } from './notes-lab.ts';

const SOON = { timeout: timeLimit(15_000), interval: 50 };
const retry = (message: string) => expect.objectContaining({ name: 'RetryableToolError', message });
const refusedUnseen = (message: string) =>
  expect.objectContaining({ name: 'RetryableToolError', message, executed: 'no' });

test('notes are listed with path, title, time and size, the latest changed first', async () => {
  await using lab = await startNotesLab({
    'old.md': 'no heading',
    'projects/plan.markdown': '---\ntags: [x]\ntitle: "The Plan"\n---\n# Not this\n',
    'code.md': '```\n# a comment\n```\n\n## The heading ##\n',
  });
  await utimes(lab.at('old.md'), 1_000_000_000, 1_000_000_000);
  await utimes(lab.at('projects/plan.markdown'), 1_200_000_000, 1_200_000_000);
  await utimes(lab.at('code.md'), 1_100_000_000, 1_100_000_000);
  await vi.waitFor(async () => {
    expect(await lab.call('list_notes')).toEqual({
      display: '3 notes found.',
      count: 3,
      page: 1,
      has_more: false,
      notes: [
        { path: 'projects/plan.markdown', title: 'The Plan', modified: '2008-01-10T21:20:00.000Z', size: 47 },
        { path: 'code.md', title: 'The heading', modified: '2004-11-09T11:33:20.000Z', size: 39 },
        { path: 'old.md', title: 'old', modified: '2001-09-09T01:46:40.000Z', size: 10 },
      ],
    });
  }, SOON);
});

test('no notes at all are an empty success for every list', async () => {
  await using lab = await startNotesLab();
  const empty = {
    message: 'No notes found.',
    value: { display: 'No notes found.', count: 0, page: 1, has_more: false },
  };
  expect(await lab.run('list_notes')).toMatchObject(empty);
  expect(await lab.run('search_notes', { query: 'anything' })).toMatchObject(empty);
});

test('any page may be asked for, and past the end there are no more results', async () => {
  await using lab = await startNotesLab(
    Object.fromEntries([1, 2, 3, 4, 5].map((number) => [`n${number}.md`, `the gate ${number}`])),
  );
  const page = (tool: string, number: number) => lab.call(tool, { query: 'gate', page: number, page_size: 2 });
  const search = async (number: number) => page('search_notes', number);
  expect(await search(3)).toMatchObject({ display: '1 note found on page 3.', count: 1, page: 3, has_more: false });
  expect(await search(1)).toMatchObject({ display: '2 notes found on page 1. More on page 2.', has_more: true });
  expect(await search(4)).toMatchObject({ display: 'No more results.', count: 0, page: 4, has_more: false });
  const all = [...pathsOf(await search(1)), ...pathsOf(await search(2)), ...pathsOf(await search(3))];
  expect(all.toSorted()).toEqual(['n1.md', 'n2.md', 'n3.md', 'n4.md', 'n5.md']);
  expect(await lab.call('list_notes', { page: 2, page_size: 3 })).toMatchObject({ count: 2, page: 2, has_more: false });
});

test('a folder narrows both lists, and its name is no beginning of another', async () => {
  await using lab = await startNotesLab({ 'a/x.md': 'gate', 'a/b/y.md': 'gate', 'ab/z.md': 'gate', 'a.md': 'gate' });
  expect(pathsOf(await lab.call('list_notes', { folder: 'a' })).toSorted()).toEqual(['a/b/y.md', 'a/x.md']);
  expect(pathsOf(await lab.call('search_notes', { query: 'gate', folder: 'a/b/' }))).toEqual(['a/b/y.md']);
});

test('a folder that is not there is a retry, one without notes is not', async () => {
  await using lab = await startNotesLab({ 'a.md': 'gate' });
  await mkdir(lab.at('bare'));
  const refused = retry("There is no folder 'bear' in the notes. Call list_notes without a folder to list all notes.");
  await expect(lab.call('list_notes', { folder: 'bear' })).rejects.toThrow(refused);
  await expect(lab.call('search_notes', { query: 'gate', folder: 'bear' })).rejects.toThrow(refused);
  expect(await lab.call('list_notes', { folder: 'bare' })).toMatchObject({ display: 'No notes found.' });
});

test('without NOTES_DIR each call is a retry that names it, and the log says it once', async () => {
  await using lab = await startNotesLab({}, { directory: 'unset' });
  const refused = refusedUnseen('Notes not configured. Set NOTES_DIR to a directory of Markdown files.');
  await expect(lab.call('list_notes')).rejects.toThrow(refused);
  await expect(lab.call('search_notes', { query: 'x' })).rejects.toThrow(refused);
  await expect(lab.call('read_note', { path: 'x.md' })).rejects.toThrow(refused);
  expect(lab.log).toEqual([
    {
      level: 'warn',
      fields: { setting: 'NOTES_DIR', path: null, reason: 'is not set' },
      message: 'notes are not available',
    },
  ]);
});

test('a directory that is missing is a retry without its path, and works once it is there', async () => {
  await using lab = await startNotesLab({}, { directory: 'missing' });
  const refused = (what: string) =>
    refusedUnseen(
      `Notes not available: the directory in NOTES_DIR ${what}. Set NOTES_DIR to a directory of Markdown files.`,
    );
  await expect(lab.call('list_notes')).rejects.toThrow(refused('does not exist'));
  await expect(lab.call('list_notes')).rejects.toThrow(refused('does not exist'));
  expect(lab.log).toHaveLength(1);
  await writeFile(lab.root, 'a file');
  await expect(lab.call('list_notes')).rejects.toThrow(refused('is not a directory'));
  await rm(lab.root);
  await lab.write('first.md', 'hello');
  expect(pathsOf(await lab.call('list_notes'))).toEqual(['first.md']);
});

test('the root of the file system is refused by that name', async () => {
  await using lab = await startNotesLab({}, { directory: 'missing' });
  await symlink('/', lab.root);
  await expect(lab.call('list_notes')).rejects.toThrow(
    refusedUnseen(
      'Notes not available: the directory in NOTES_DIR is the root of the file system. Set NOTES_DIR to a directory of Markdown files.',
    ),
  );
  expect(lab.log.at(-1)?.fields).toMatchObject({ setting: 'NOTES_DIR', reason: 'is the root of the file system' });
});

test('a directory that goes and comes back with other notes is read anew', async () => {
  await using lab = await startNotesLab({ 'a.md': 'alpha' });
  expect(await lab.find('alpha')).toEqual(['a.md']);
  await rename(lab.root, join(lab.outside, 'away'));
  await expect(lab.call('search_notes', { query: 'alpha' })).rejects.toThrow(/does not exist/);
  await lab.write('b.md', 'alpha');
  await vi.waitFor(async () => expect(await lab.find('alpha')).toEqual(['b.md']), SOON);
});

test('what changes on disk is found: new, changed, renamed and removed notes and folders', async () => {
  await using lab = await startNotesLab({ 'a.md': 'alpha', 'dir/b.md': 'beta' });
  const soon = (query: string, paths: readonly string[]) =>
    vi.waitFor(async () => expect(await lab.find(query)).toEqual(paths), SOON);
  await soon('alpha', ['a.md']);
  await lab.write('new/deep/c.md', 'gamma');
  await soon('gamma', ['new/deep/c.md']);
  await lab.write('a.md', 'omega');
  await soon('omega', ['a.md']);
  await soon('alpha', []);
  await rename(lab.at('dir'), lab.at('moved'));
  await soon('beta', ['moved/b.md']);
  // As editors save: a new file takes the place of the old one.
  await lab.write('.a.md.swp', 'saved');
  await rename(lab.at('.a.md.swp'), lab.at('a.md'));
  await soon('saved', ['a.md']);
  await rm(lab.at('moved'), { recursive: true });
  await soon('beta', []);
});

test('a change that keeps size and time of the last change is found', async () => {
  await using lab = await startNotesLab({ 'a.md': 'alpha' });
  await utimes(lab.at('a.md'), 1_000_000_000, 1_000_000_000);
  await vi.waitFor(async () => expect(await lab.find('alpha')).toEqual(['a.md']), SOON);
  await writeFile(lab.at('a.md'), 'omega');
  await utimes(lab.at('a.md'), 1_000_000_000, 1_000_000_000);
  await vi.waitFor(async () => expect(await lab.find('omega')).toEqual(['a.md']), SOON);
});

test('notes mounted as a ConfigMap are found, and their swap, too', async () => {
  await using lab = await startNotesLab({ '..v1/a.md': 'alpha', '..v2/a.md': 'omega' });
  await symlink('..v1', lab.at('..data'));
  await symlink('..data/a.md', lab.at('a.md'));
  await vi.waitFor(async () => expect(await lab.find('alpha')).toEqual(['a.md']), SOON);
  await symlink('..v2', lab.at('..data_tmp'));
  await rename(lab.at('..data_tmp'), lab.at('..data'));
  await vi.waitFor(async () => expect(await lab.find('omega')).toEqual(['a.md']), SOON);
  expect(await lab.call('read_note', { path: 'a.md' })).toMatchObject({ content: 'omega' });
});

test('a directory that another takes the place of is read anew', async () => {
  await using lab = await startNotesLab({ 'a.md': 'alpha' });
  expect(await lab.find('alpha')).toEqual(['a.md']);
  await rename(lab.root, `${lab.root}-before`);
  await mkdir(join(lab.outside, 'other'));
  await writeFile(join(lab.outside, 'other', 'z.md'), 'alpha');
  await symlink(join(lab.outside, 'other'), lab.root);
  await vi.waitFor(async () => expect(await lab.find('alpha')).toEqual(['z.md']), SOON);
});

test('three searches at once are all answered', async () => {
  await using lab = await startNotesLab({ 'a.md': 'alpha beta', 'b.md': 'beta gamma', 'c.md': 'gamma alpha' });
  const found = await Promise.all(['alpha', 'beta', 'gamma'].map((query) => lab.find(query)));
  expect(found.map((paths) => paths.toSorted())).toEqual([
    ['a.md', 'c.md'],
    ['a.md', 'b.md'],
    ['b.md', 'c.md'],
  ]);
});

test('nothing is written beside the notes', async () => {
  await using lab = await startNotesLab({ 'a.md': 'alpha' });
  expect(await lab.find('alpha')).toEqual(['a.md']);
  expect(await readdir(lab.root)).toEqual(['a.md']);
});
