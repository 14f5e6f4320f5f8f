import { runTool } from '@recourse/test-support/run-tool.ts';
import { createTemporaryWorkspace } from '@recourse/test-support/temporary-workspace.ts';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { createReadFile } from '#src/read-file.ts';

const Part = z.object({ content: z.string(), next_offset: z.number().optional() });

const refused = (message: string) => expect.objectContaining({ name: 'RetryableToolError', message });

test('a file is given as its path and its text', async () => {
  await using held = await createTemporaryWorkspace({ 'minutes/june.md': 'Grüße, 世界 🌍\r\n' });
  expect(await runTool(createReadFile(held.workspace), { path: './minutes/june.md' })).toEqual({
    path: 'minutes/june.md',
    content: 'Grüße, 世界 🌍\r\n',
  });
});

test('an empty file is an empty success', async () => {
  await using held = await createTemporaryWorkspace({ 'empty.md': '' });
  expect(await runTool(createReadFile(held.workspace), { path: 'empty.md' })).toMatchObject({
    message: 'The file is empty.',
    value: { path: 'empty.md', content: '' },
  });
});

test('a missing file names the near one and says where to look', async () => {
  await using held = await createTemporaryWorkspace({ 'notes.md': 'hello', 'todo.txt': '' });
  const reading = runTool(createReadFile(held.workspace), { path: 'note.md' });
  const error = await reading.catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({
    name: 'FileNotFoundError',
    message: "there is no file 'note.md' in the workspace. Did you mean 'notes.md'?",
    cause: { code: 'ENOENT' },
  });
  expect(error instanceof Error && Object.getOwnPropertyDescriptor(error, 'hint')?.value).toBe(
    'Call list_files to see what is there.',
  );
});

test.each([
  ['budget.xlsx', "there is no file 'budget.xlsx' in the workspace."],
  ['NOTES.md', "there is no file 'NOTES.md' in the workspace. Did you mean 'notes.md'?"],
  ['docs/notes.md', "there is no file 'docs/notes.md' in the workspace. Did you mean 'notes.md'?"],
  ['minutes/jun.md', "there is no file 'minutes/jun.md' in the workspace. Did you mean 'minutes/june.md'?"],
  ['june.md', "there is no file 'june.md' in the workspace. Did you mean 'minutes/june.md'?"],
  ['notes.md/x', "there is no file 'notes.md/x' in the workspace."],
  ['minute', "there is no file 'minute' in the workspace."],
  ['a\nb', "there is no file 'a\\u000ab' in the workspace."],
])('the missing file %j is answered with what is near, if anything is', async (path, message) => {
  await using held = await createTemporaryWorkspace({ 'notes.md': '', 'minutes/june.md': '' });
  await expect(runTool(createReadFile(held.workspace), { path })).rejects.toThrow(
    expect.objectContaining({ name: 'FileNotFoundError', message }),
  );
});

test('a long file comes in parts that together are the file', async () => {
  const text = 'aé世🌍\n'.repeat(200);
  await using held = await createTemporaryWorkspace({ 'long.md': text });
  const readFile = createReadFile(held.workspace);
  expect(await runTool(readFile, { path: 'long.md', limit: 5 })).toEqual({
    path: 'long.md',
    content: 'aé世',
    truncated: true,
    next_offset: 6,
    total_bytes: 2_200,
  });
  for (const limit of [1, 2, 7, 4096, 65_536]) {
    const parts: string[] = [];
    let offset = 0;
    while (offset < 2_200 && parts.length < 2_200) {
      const part = await runTool(readFile, { path: 'long.md', offset, limit });
      const { content, next_offset: next } = Part.parse(part);
      parts.push(content);
      offset = next ?? 2_200;
    }
    expect(parts.join('') === text).toBe(true);
  }
});

test('without a limit 64 KiB are read', async () => {
  await using held = await createTemporaryWorkspace({ 'long.md': 'x'.repeat(65_537) });
  expect(await runTool(createReadFile(held.workspace), { path: 'long.md' })).toEqual({
    path: 'long.md',
    content: 'x'.repeat(65_536),
    truncated: true,
    next_offset: 65_536,
    total_bytes: 65_537,
  });
});

test('a file exactly as long as the limit is not truncated', async () => {
  await using held = await createTemporaryWorkspace({ 'a.md': 'abcé' });
  expect(await runTool(createReadFile(held.workspace), { path: 'a.md', limit: 5 })).toEqual({
    path: 'a.md',
    content: 'abcé',
  });
});

test('an offset within a character begins at the next one', async () => {
  await using held = await createTemporaryWorkspace({ 'a.md': '世界' });
  expect(await runTool(createReadFile(held.workspace), { path: 'a.md', offset: 1 })).toEqual({
    path: 'a.md',
    content: '界',
  });
});

test('an offset at the end is empty, one past the end is refused with the size', async () => {
  await using held = await createTemporaryWorkspace({ 'a.md': 'abc' });
  const readFile = createReadFile(held.workspace);
  expect(await runTool(readFile, { path: 'a.md', offset: 3 })).toMatchObject({
    message: 'The end of the file is reached.',
    value: { path: 'a.md', content: '' },
  });
  await expect(runTool(readFile, { path: 'a.md', offset: 9_007_199_254_740_991 })).rejects.toThrow(
    refused("offset 9007199254740991 is past the end of 'a.md', which has 3 bytes. Send a smaller offset."),
  );
});

test.each([
  [{ path: '' }, 'path: '],
  [{ path: 'a.md', limit: 131_073 }, 'limit: '],
  [{ path: 'a.md', limit: 0 }, 'limit: '],
  [{ path: 'a.md', offset: -1 }, 'offset: '],
])('the arguments %j are refused by the schema', async (input, text) => {
  await using held = await createTemporaryWorkspace({ 'a.md': 'abc' });
  await expect(runTool(createReadFile(held.workspace), input)).rejects.toThrow(text);
});
