import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type Arrangement, type Arrangements, callOnce, describeAudit } from '@recourse/test-support/audit-lab.ts';
import { AUDIT } from './audit-rows.ts';

type Arguments = Readonly<Record<string, unknown>>;

const NOTES = {
  'projects/plan.md': '# Release plan\n\nBuy milk.\n',
  'blank.md': '',
  'binary.md': Uint8Array.of(1, 0, 2),
};

/** A call in a directory of notes. */
const inNotes =
  (tool: string, args: Arguments, notes: Readonly<Record<string, string | Uint8Array>> = NOTES): Arrangement =>
  async ({ directory, serve }) =>
    callOnce(await serve({ NOTES_DIR: await directory(notes) }), tool, args);

const withoutNotes = (tool: string, args: Arguments): Arrangements => ({
  [`${tool}: NOTES_DIR is not set`]: async ({ bare }) => callOnce(await bare(), tool, args),
  [`${tool}: NOTES_DIR names no directory`]: async ({ serve }) =>
    callOnce(await serve({ NOTES_DIR: '/nowhere/notes' }), tool, args),
  [`${tool}: NOTES_DIR is the root of the file system`]: async ({ serve }) =>
    callOnce(await serve({ NOTES_DIR: '/' }), tool, args),
});

const inPages = (tool: string, args: Arguments): Arrangements => ({
  [`${tool}: a further page holds nothing`]: inNotes(tool, { ...args, page: 2 }),
  [`${tool}: there is no such folder`]: inNotes(tool, { ...args, folder: 'project' }),
  [`${tool}: the folder leads out of the notes`]: inNotes(tool, { ...args, folder: '../secret' }),
  [`${tool}: \`page\` is 0`]: inNotes(tool, { ...args, page: 0 }),
  [`${tool}: \`page_size\` is 51`]: inNotes(tool, { ...args, page_size: 51 }),
});

const SEARCH = { query: 'milk' };
const READ = { path: 'projects/plan.md' };

const ARRANGEMENTS: Arrangements = {
  'list_notes: there are no notes': inNotes('list_notes', {}, {}),
  ...inPages('list_notes', {}),
  ...withoutNotes('list_notes', {}),
  'search_notes: no note matches': inNotes('search_notes', { query: 'Platform Sync February 5 2026' }),
  'search_notes: the query holds no word': inNotes('search_notes', { query: '?!' }),
  ...inPages('search_notes', SEARCH),
  ...withoutNotes('search_notes', SEARCH),
  'read_note: the note has no content': inNotes('read_note', { path: 'blank.md' }),
  'read_note: there is no such note': inNotes('read_note', { path: 'projects/plann.md' }),
  'read_note: the path leads out of the notes': inNotes('read_note', { path: '../secret.md' }),
  'read_note: the note is a link that leads out': async ({ directory, serve }) => {
    const notes = await directory(NOTES);
    await symlink('/etc/hostname', join(notes, 'linked-elsewhere.md'));
    return callOnce(await serve({ NOTES_DIR: notes }), 'read_note', { path: 'linked-elsewhere.md' });
  },
  'read_note: the note is binary': inNotes('read_note', { path: 'binary.md' }),
  'read_note: the offset is past the end': inNotes('read_note', { ...READ, offset: 500 }),
  'read_note: `limit` is too large': inNotes('read_note', { ...READ, limit: 131_073 }),
  ...withoutNotes('read_note', READ),
};

describeAudit({
  audit: AUDIT,
  situations: {
    list_notes: ['set-up missing', 'malformed parameter', 'wrong value', 'list is empty', 'nothing is left'],
    search_notes: ['set-up missing', 'malformed parameter', 'wrong value', 'search matched nothing', 'nothing is left'],
    read_note: ['set-up missing', 'malformed parameter', 'wrong value', 'page out of order', 'list is empty'],
  },
  arrangements: ARRANGEMENTS,
});
