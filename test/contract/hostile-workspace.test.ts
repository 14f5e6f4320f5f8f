import { execFileSync } from 'node:child_process';
import { link, readdir, readFile, symlink, truncate, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { answerAmongGood, answerOne } from '@recourse/test-support/check-answer.ts';
import { fileAccess } from '@recourse/test-support/file-access.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { createTemporaryWorkspace, type TemporaryWorkspace } from '@recourse/test-support/temporary-workspace.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';

// One pass over the wire: that no path leads out is proved tool by tool in test/extensions.

let held: TemporaryWorkspace;
let service: RunningService;
const socket = createServer();

beforeAll(async () => {
  held = await createTemporaryWorkspace({
    'notes.md': 'hello',
    'sub/a.txt': 'a',
    'binary.bin': Uint8Array.of(0, 1, 2),
    'latin.txt': Uint8Array.of(0x66, 0xff),
    'evil.txt': `${'a'.repeat(100_000)}!`,
  });
  const at = (name: string): string => join(held.root, name);
  await symlink(join(held.outside, 'secret.txt'), at('link.txt'));
  await symlink(held.outside, at('dir'));
  await symlink('loop', at('loop'));
  await symlink(join(held.outside, 'new.txt'), at('dangling'));
  await link(join(held.outside, 'secret.txt'), at('hard.txt'));
  await writeFile(at('sparse'), '');
  await truncate(at('sparse'), 50_000_000_000);
  execFileSync('mkfifo', [at('fifo')]);
  await new Promise<void>((resolve) => socket.listen(at('sock'), resolve));
  service = await startService({ WORKSPACE_DIR: held.root }, [], { fileAccess: fileAccess() });
});

afterAll(async () => {
  expect(await service.metric('recourse_contract_violations_total')).toBe(0);
  await service.stop();
  await new Promise((resolve) => socket.close(resolve));
  await held[Symbol.asyncDispose]();
});

const OUTWARDS = [
  '..',
  '../x',
  '../ws-evil/secret.txt',
  'sub/../../ws-evil/secret.txt',
  '/etc/passwd',
  '/proc/self/environ',
  'link.txt',
  'dir/secret.txt',
  'dir/new.txt',
  'loop',
  'dangling',
  'a\0b',
  'x'.repeat(300),
  'x'.repeat(5000),
  'fifo',
  'sock',
];

test.each(['read_file', 'list_files', 'search_files', 'write_file'])(
  '%s: no hostile path leads anywhere, in one batch with good calls',
  async (name) => {
    const more = { read_file: {}, list_files: {}, search_files: { query: 'secret' }, write_file: { content: 'owned' } }[
      name
    ];
    const entries = OUTWARDS.map((path) => JSON.stringify({ name, arguments: { path, ...more } }));
    const results = await answerAmongGood(service, entries);
    for (const { outcome, value, error, message } of results) {
      expect([outcome, value]).toEqual(['retry', null]);
      expect(['retry_requested', 'tool_exception']).toContain(error?.code);
      expect(message).not.toContain(held.root);
      expect(message).not.toContain('the secret');
    }
    expect(await readdir(held.outside)).toEqual(['secret.txt']);
    expect(await readFile(join(held.outside, 'secret.txt'), 'utf8')).toBe('the secret');
  },
);

const OUT = "leads out of the workspace. Send a path relative to the workspace, without '..'.";
const FOLLOW = 'is a symbolic link to a place outside the workspace. Choose a path inside the workspace.';

test.each([
  ['../ws-evil/secret.txt', `'../ws-evil/secret.txt' ${OUT}`],
  ['/etc/passwd', "'/etc/passwd' is an absolute path. Send a path relative to the workspace, for example 'notes.md'."],
  ['link.txt', `'link.txt' ${FOLLOW}`],
  ['dir/secret.txt', `'dir/secret.txt' ${FOLLOW}`],
  ['loop', "'loop' is a loop of symbolic links. Choose another path."],
  [
    'dangling',
    "FileNotFoundError: there is no file 'dangling' in the workspace. Call list_files to see what is there.",
  ],
  ['fifo', "'fifo' is a FIFO, not a regular file. Choose the path of a regular file."],
  ['sock', "'sock' is a socket, not a regular file. Choose the path of a regular file."],
  [
    'hard.txt',
    "'hard.txt' is a hard link that may belong to a file outside the workspace. Choose the path of a regular file.",
  ],
  ['sub', "'sub' is a directory, not a file. Choose the path of a regular file."],
  ['sparse', "'sparse' is binary, or not UTF-8 text. Choose a text file."],
  ['binary.bin', "'binary.bin' is binary, or not UTF-8 text. Choose a text file."],
  ['latin.txt', "'latin.txt' is binary, or not UTF-8 text. Choose a text file."],
  [
    'note.md',
    "FileNotFoundError: there is no file 'note.md' in the workspace. Did you mean 'notes.md'? Call list_files to see what is there.",
  ],
])('reading %s says what is wrong and what to do', async (path, message) => {
  const result = await answerOne(service, { name: 'read_file', arguments: { path } });
  expect(result).toMatchObject({ outcome: 'retry', executed: 'yes', value: null, message });
});

test('a search pattern that would blow up as a regular expression is plain text', {
  timeout: timeLimit(10_000),
}, async () => {
  const result = await answerOne(service, { name: 'search_files', arguments: { query: '(a+)+$' } });
  expect(result).toMatchObject({ success: true, empty: true, value: { matches: [] } });
  expect((await answerOne(service, { name: 'search_files', arguments: { query: 'the secret' } })).value).toMatchObject({
    matches: [],
  });
});

test('writing through a hard link leaves the file outside as it is', async () => {
  const written = await answerOne(service, { name: 'write_file', arguments: { path: 'hard.txt', content: 'mine' } });
  expect(written).toMatchObject({ success: true, value: { path: 'hard.txt', created: false } });
  expect(await readFile(join(held.outside, 'secret.txt'), 'utf8')).toBe('the secret');
});
