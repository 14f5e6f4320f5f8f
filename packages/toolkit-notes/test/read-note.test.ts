import { expect, test } from 'vitest';
import { startNotesLab } from './notes-lab.ts';

const retry = (message: string) =>
  expect.objectContaining({
    name: 'RetryableToolError',
    message,
    hint: 'Call search_notes or list_notes to find it.',
  });

test('a note is given whole, with what it is', async () => {
  await using lab = await startNotesLab({ 'projects/plan.md': '# Plan\nGrüße' });
  expect(await lab.call('read_note', { path: './projects/plan.md' })).toEqual({
    display: "The note 'projects/plan.md'.",
    count: 1,
    path: 'projects/plan.md',
    content: '# Plan\nGrüße',
    modified: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    size: 14,
  });
});

test('a long note comes in parts that make up the whole, never a part of a character', async () => {
  const text = 'ä€😀x'.repeat(200);
  await using lab = await startNotesLab({ 'a.md': text });
  let whole = '';
  let offset: unknown = 0;
  while (offset !== undefined) {
    const part = await lab.call('read_note', { path: 'a.md', offset, limit: 101 });
    expect(part).toMatchObject({ count: 1, size: 2000, content: expect.not.stringContaining('\ufffd') });
    whole += typeof part === 'object' && part !== null && 'content' in part ? part.content : '';
    offset = typeof part === 'object' && part !== null && 'next_offset' in part ? part.next_offset : undefined;
  }
  expect(whole).toBe(text);
  const first = await lab.call('read_note', { path: 'a.md', limit: 101 });
  expect(first).toMatchObject({
    display: "Bytes 0 to 102 of 2000 of the note 'a.md'.",
    truncated: true,
    next_offset: 102,
  });
  await expect(lab.call('read_note', { path: 'a.md', offset: 2000 })).rejects.toThrow(
    "offset 2000 is past the end of 'a.md', which has 2000 bytes. Send a smaller offset.",
  );
});

test('an empty note is an empty success', async () => {
  await using lab = await startNotesLab({ 'a.md': '' });
  expect(await lab.run('read_note', { path: 'a.md' })).toMatchObject({
    message: "The note 'a.md' is empty.",
    value: { display: "The note 'a.md' is empty.", count: 0, content: '' },
  });
});

test.each([
  ['projects/pla.md', "There is no note 'projects/pla.md'. Did you mean 'projects/plan.md'?"],
  ['plan.md', "There is no note 'plan.md'. Did you mean 'projects/plan.md'?"],
  ['projects/plan', "There is no note 'projects/plan'. Did you mean 'projects/plan.md'?"],
  ['The Master Plan', "There is no note 'The Master Plan'. Did you mean 'projects/plan.md'?"],
  ['minutes', "There is no note 'minutes'. Did you mean 'june.md' or 'may.md'?"],
  ['zzzzzzzzzzzz.md', "There is no note 'zzzzzzzzzzzz.md'."],
  ['.obsidian/app.md', "There is no note '.obsidian/app.md'."],
  ['todo.txt', "There is no note 'todo.txt'."],
])('the path %j is a retry that names what may have been meant', async (path, message) => {
  await using lab = await startNotesLab({
    'projects/plan.md': '# The Master Plan',
    'june.md': '# Minutes',
    'may.md': '# Minutes',
    '.obsidian/app.md': 'hidden',
    'todo.txt': 'no note',
  });
  await expect(lab.call('read_note', { path })).rejects.toThrow(retry(message));
});

test.each([
  [
    '/etc/passwd',
    "'/etc/passwd' is an absolute path. Send a path as list_notes and search_notes return it, for example 'projects/plan.md'.",
  ],
  [
    '../notes-evil/secret.md',
    "'../notes-evil/secret.md' holds '..'. Send a path as list_notes and search_notes return it, for example 'projects/plan.md'.",
  ],
  ['a\0.md', "The path 'a\\u0000.md' contains a NUL character. Send the path without it."],
])('the path %j is refused with what to send instead', async (path, message) => {
  await using lab = await startNotesLab({ 'a.md': 'x' });
  await expect(lab.call('read_note', { path })).rejects.toThrow(
    expect.objectContaining({ name: 'RetryableToolError', message }),
  );
});
