import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createFolder, startConfigLab } from '@recourse/test-support/config-lab.ts';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineTool } from '#src/tools/define-tool.ts';
import { RetryableToolError } from '#src/tools/tool-errors.ts';

const guide = (effects: 'read' | 'write') =>
  defineTool({
    name: `guides_${effects}`,
    description: 'Says how to call it.',
    input: z.object({}),
    effects,
    run: (_input, context) => {
      throw new RetryableToolError(`Here it is ${context.effects}.`);
    },
  });

const HOSTED = `
import { defineTool, z } from 'recourse-server';
export default defineTool({
  name: 'hosted_breaks', description: 'Breaks.', input: z.object({}), effects: 'read',
  run: (_input, { effects }) => { throw new Error('It broke as ' + effects + '.'); },
});
`;

test('what an operator says of effects holds for what a failure may have done, also in a tool host', async () => {
  const folder = await createFolder();
  await mkdir(join(folder, 'tools'));
  await writeFile(join(folder, 'tools/hosted.ts'), HOSTED);
  const { service } = await startConfigLab(
    {
      tools: {
        hosted_breaks: { effects: 'write' },
        guides_read: { effects: 'write' },
        guides_write: { effects: 'read' },
      },
    },
    { TOOLS_DIR: join(folder, 'tools') },
    [guide('read'), guide('write')],
  );
  const results = await service.call(
    ['hosted_breaks', 'guides_read', 'guides_write'].map((name) => ({ id: name, name, arguments: {} })),
  );
  expect(results).toMatchObject([
    { outcome: 'unknown', executed: 'maybe', message: expect.stringContaining('It broke as write.') },
    { outcome: 'retry', executed: 'no', message: expect.stringContaining('Here it is write.') },
    { outcome: 'retry', executed: 'yes', message: expect.stringContaining('Here it is read.') },
  ]);
});

test('of an MCP tool too: one that its server calls read, and an operator a write, may have done something when it fails', async () => {
  const server = join(import.meta.dirname, '../../support/mcp-servers/scripted-server.ts');
  const { service } = await startConfigLab({
    mcpServers: { lab: { command: process.execPath, args: [server], effects: { fail_writing: 'read' } } },
    tools: { lab_fail_writing: { effects: 'write' }, lab_fail: { effects: 'read' } },
  });
  const results = await service.call(
    ['lab_fail_writing', 'lab_fail'].map((name) => ({ id: name, name, arguments: {} })),
  );
  expect(results).toMatchObject([
    { outcome: 'retry', executed: 'maybe', message: expect.stringContaining('Half of it was written.') },
    { outcome: 'retry', executed: 'yes', message: expect.stringContaining('The disk is full.') },
  ]);
});
