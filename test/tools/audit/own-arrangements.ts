import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Answerer, answering, startHttpTarget } from '#test/support/http-target.ts';
import { type Arrangement, type Arrangements, callOnce } from './audit-lab.ts';

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

const fromServer =
  (answer: Answerer): Arrangement =>
  async ({ serve }) => {
    const { origin } = await startHttpTarget(answer);
    return callOnce(await serve({ FETCH_ALLOW_PRIVATE: 'true' }), 'fetch_url', { url: `${origin}/page` });
  };

// Longer than the tool may take: it is not waited for.
const IN_A_MINUTE = { 'retry-after': '60' };

export const OWN_ARRANGEMENTS: Arrangements = {
  'echo: `text` is no text': anywhere('echo', { text: 5 }),

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

  'fetch_url: the page has no content': fromServer(answering(200)),
  'fetch_url: `url` is no URL': anywhere('fetch_url', { url: 'example' }),
  'fetch_url: the address is not public': anywhere('fetch_url', { url: 'http://127.0.0.1/' }),
  'fetch_url: there is no such page (404)': fromServer(answering(404)),
  'fetch_url: the page is no text': fromServer(answering(200, { 'content-type': 'image/png' }, Uint8Array.of(0, 1))),
  'fetch_url: the page asks for a login (401)': fromServer(answering(401)),
  'fetch_url: access is forbidden (403)': fromServer(answering(403)),
  'fetch_url: the server limits us (429)': fromServer(answering(429, IN_A_MINUTE)),
  'fetch_url: the server is not available (503)': fromServer(answering(503, IN_A_MINUTE)),
};
