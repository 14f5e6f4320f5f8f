import { realpath, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { connect } from '@recourse/test-support/mcp-clients.ts';
import { createCountFile, servers, startMcpLab, until } from '@recourse/test-support/mcp-servers/mcp-lab.ts';
import { expect, test } from 'vitest';

test('the filesystem server of the registry reads a file, and its mistakes are for the model', async () => {
  await using file = await createCountFile();
  const root = await realpath(dirname(file.path));
  await writeFile(join(root, 'notes.md'), 'remember the milk');
  await using lab = await startMcpLab({
    ...servers.filesystem(root),
    prefix: 'fs',
    tools: { exclude: ['*directory*', 'move_file'] },
  });
  const names = lab.latest().tools.map(({ name }) => name);
  expect(names).toContain('fs_read_text_file');
  expect(names.filter((name) => /directory|move/.test(name))).toEqual([]);
  expect(lab.tool('fs_read_text_file')).toMatchObject({
    effects: 'read',
    source: 'mcp:lab',
    upstream: { name: 'mcp:lab', concurrency: 512 },
  });
  expect(lab.tool('fs_write_file').effects).toBe('idempotent');
  const read = await lab.call('fs_read_text_file', { path: join(root, 'notes.md') });
  expect(read).toMatchObject({ success: true, value: { content: 'remember the milk' } });
  expect(await lab.call('fs_read_text_file', { path: '/etc/passwd' })).toMatchObject({
    outcome: 'retry',
    message: expect.stringContaining('Access denied'),
    error: { code: 'retry_requested' },
  });
});

test('the server of all features works as it is: images and text resources reach models and MCP clients, `$schema` stays', async () => {
  await using lab = await startMcpLab({ ...servers.everything(), effects: { 'get-sum': 'read' }, timeoutMs: 5_000 });
  expect(lab.tool('lab_get-sum')).toMatchObject({ effects: 'read', timeoutMs: 5_000 });
  expect(await lab.call('lab_get-sum', { a: 2, b: 3 })).toMatchObject({
    success: true,
    value: 'The sum of 2 and 3 is 5.',
  });
  expect(await lab.call('lab_get-structured-content', { location: 'Chicago' })).toMatchObject({
    success: true,
    value: { temperature: expect.any(Number) },
  });
  const { value } = await lab.call('lab_get-tiny-image');
  expect(value).toMatchObject({
    content: [{ type: 'text' }, { type: 'image', mimeType: 'image/png' }, { type: 'text' }],
  });
  const service = await lab.service();
  const postTurn = async (format: string, turn: readonly unknown[]): Promise<unknown> => {
    const answer = await fetch(`${service.url}/tool-calls?format=${format}&raw=true`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(turn),
    });
    return answer.json();
  };
  const look = { type: 'tool_use', id: 'toolu_1', name: 'lab_get-tiny-image', input: {} };
  expect(await postTurn('anthropic', [look])).toMatchObject([
    {
      content: [
        {
          tool_use_id: 'toolu_1',
          content: [
            { type: 'text' },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: expect.any(String) } },
            { type: 'text' },
          ],
        },
      ],
    },
  ]);

  const args = { resourceType: 'Text', resourceId: 7 };
  const resource = {
    uri: 'demo://resource/dynamic/text/7',
    mimeType: 'text/plain',
    text: expect.stringMatching(/^Resource 7: This is a plaintext resource/),
  };

  const { client } = await connect(service.url, 'modern');
  expect((await client.callTool({ name: 'lab_get-resource-reference', arguments: args })).content).toEqual([
    { type: 'text', text: 'Returning resource reference for Resource 7:' },
    { type: 'resource', resource },
    { type: 'text', text: 'You can access this resource using the URI: demo://resource/dynamic/text/7' },
  ]);
  const refer = { name: 'lab_get-resource-reference', arguments: JSON.stringify(args) };
  expect(await postTurn('openai-chat', [{ id: 'a', type: 'function', function: refer }])).toMatchObject([
    {
      tool_call_id: 'a',
      content: expect.stringMatching(/^Returning resource .* 7:\nResource 7: This is a plaintext .*\nYou can access/),
    },
  ]);
  const { tools } = await client.listTools();
  expect(tools.find(({ name }) => name === 'lab_get-sum')?.inputSchema).toMatchObject({
    $schema: 'http://json-schema.org/draft-07/schema#',
    required: ['a', 'b'],
  });
});

test.each(['both', 'modern'])('a server of the 2026 revision is spoken to in its own way (%s)', async (mode) => {
  await using lab = await startMcpLab(servers.modern(mode));
  await until(() => expect(lab.upstream.state()).toMatchObject({ status: 'up', tools: 2 }));
  expect(await lab.call('lab_add', { x: 1, y: 2 })).toMatchObject({ success: true, value: { sum: 3 } });
  expect(await lab.call('lab_explode')).toMatchObject({
    executed: 'maybe',
    message: expect.stringContaining('It went up in smoke.'),
    error: { code: 'retry_requested' },
  });
});
