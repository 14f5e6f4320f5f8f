import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Arrangement, type Arrangements, callOnce, describeAudit } from '@recourse/test-support/audit-lab.ts';
import { AUDIT } from './audit-rows.ts';

const FILES = { 'notes.md': 'Buy milk.\n', 'blank.md': '', 'logo.bin': Uint8Array.of(1, 0, 2) };

/** A call in a workspace with a note, a blank file, a binary file and an empty directory. */
const inWorkspace =
  (tool: string, args: Readonly<Record<string, unknown>>): Arrangement =>
  async ({ directory, serve }) => {
    const root = await directory(FILES);
    await mkdir(join(root, 'empty'));
    return callOnce(await serve({ WORKSPACE_DIR: root }), tool, args);
  };

/** A call of a service that needs nothing. */
const anywhere =
  (tool: string, args: Readonly<Record<string, unknown>>): Arrangement =>
  async ({ bare }) =>
    callOnce(await bare(), tool, args);

const ARRANGEMENTS: Arrangements = {
  'read_file: the file has no content': inWorkspace('read_file', { path: 'blank.md' }),
  'read_file: the offset is the end of the file': inWorkspace('read_file', { path: 'notes.md', offset: 10 }),
  'read_file: the path leads out of the workspace': inWorkspace('read_file', { path: '../notes.md' }),
  'read_file: there is no such file': inWorkspace('read_file', { path: 'note.md' }),
  'read_file: the file is binary': inWorkspace('read_file', { path: 'logo.bin' }),
  'read_file: the offset is past the end': inWorkspace('read_file', { path: 'notes.md', offset: 500 }),
  'read_file: `limit` is too large': anywhere('read_file', { path: 'notes.md', limit: 131_073 }),

  'list_files: the directory has no entries': inWorkspace('list_files', { path: 'empty' }),
  'list_files: no name sorts after `after`': inWorkspace('list_files', { after: 'z' }),
  'list_files: the path leads out of the workspace': inWorkspace('list_files', { path: '../notes.md' }),
  'list_files: the path is a file': inWorkspace('list_files', { path: 'notes.md' }),
  'list_files: `path` is no text': anywhere('list_files', { path: 5 }),

  'search_files: no line matches': inWorkspace('search_files', { query: 'bread' }),
  'search_files: the path leads out of the workspace': inWorkspace('search_files', {
    query: 'milk',
    path: '../notes.md',
  }),
  'search_files: the file is binary': inWorkspace('search_files', { query: 'milk', path: 'logo.bin' }),
  'search_files: `query` has two lines': anywhere('search_files', { query: 'milk\nbread' }),

  'write_file: the path leads out of the workspace': inWorkspace('write_file', { path: '../notes.md', content: '' }),
  'write_file: the path is in a Git directory': inWorkspace('write_file', { path: '.git/config', content: '' }),
  'write_file: the path is a directory': inWorkspace('write_file', { path: 'empty', content: '' }),
  'write_file: the content is over 1 MiB': async ({ serve }) =>
    callOnce(await serve({ MAX_BODY_BYTES: '4194304' }), 'write_file', {
      path: 'large.md',
      content: 'a'.repeat(1_048_577),
    }),
  'write_file: `content` is missing': anywhere('write_file', { path: 'notes.md' }),
};

describeAudit({
  audit: AUDIT,
  situations: {
    read_file: ['page out of order', 'malformed parameter', 'wrong value', 'list is empty', 'nothing is left'],
    list_files: ['malformed parameter', 'wrong value', 'list is empty', 'nothing is left'],
    search_files: ['malformed parameter', 'wrong value', 'search matched nothing'],
    write_file: ['malformed parameter', 'wrong value'],
  },
  arrangements: ARRANGEMENTS,
});
