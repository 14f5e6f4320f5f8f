import { createHash } from 'node:crypto';
import { mkdir, realpath, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  CHANGED_WRONGLY,
  createFolder,
  DEADLINE,
  serverOf,
  startConfigLab,
} from '@recourse/test-support/config-lab.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { expect, onTestFinished, test, vi } from 'vitest';

const createWorkspace = async () => {
  const base = await realpath(await createFolder());
  const workspace = join(base, 'ws');
  await mkdir(workspace);
  const mistake = (subject: string): string =>
    `${subject} is inside WORKSPACE_DIR '${workspace}', where tools that write files could change it. Move one of the two.`;
  return { base, workspace, mistake };
};

/** Puts a link in the place of what is there. */
const replaceByLink = async (target: string, path: string): Promise<void> => {
  await symlink(target, `${path}.next`);
  await rename(`${path}.next`, path);
};

const said = async (service: Pick<RunningService, 'call'>, tool: string) =>
  (await service.call([{ id: '1', name: tool, arguments: {} }]))[0];

test('a version of the configuration file that names code in the workspace is refused, and the one before serves', async () => {
  const { workspace, mistake } = await createWorkspace();
  const { service, path, change } = await startConfigLab(
    { mcpServers: { good: serverOf('good', ['say']) } },
    { WORKSPACE_DIR: workspace },
  );
  const line = await change(
    {
      mcpServers: { good: serverOf('bad', ['say'], { cwd: workspace }) },
      openapi: { a: { document: `${workspace}/a.yaml` } },
    },
    CHANGED_WRONGLY,
  );
  expect(line['mistakes']).toEqual([
    mistake(`CONFIG_FILE ${path}: mcpServers.good.cwd`),
    mistake(`CONFIG_FILE ${path}: openapi.a.document`),
  ]);
  expect(await said(service, 'good_say')).toMatchObject({ success: true, value: { word: 'good' } });
});

test('a configuration file that becomes a link into the workspace is refused, and the one before serves', async () => {
  const { workspace, mistake } = await createWorkspace();
  const { service, path, linesOf } = await startConfigLab(
    { mcpServers: { good: serverOf('good', ['say']) } },
    { WORKSPACE_DIR: workspace },
  );
  await writeFile(join(workspace, 'c.json'), '{}');
  await replaceByLink(join(workspace, 'c.json'), path);
  await vi.waitFor(() => expect(linesOf(CHANGED_WRONGLY)).toHaveLength(1), DEADLINE);
  expect(linesOf(CHANGED_WRONGLY)[0]?.['mistakes']).toEqual([mistake(`CONFIG_FILE '${path}'`)]);
  expect(await said(service, 'good_say')).toMatchObject({ success: true, value: { word: 'good' } });
});

test('a file of keys that becomes a link into the workspace lets nobody new in', async () => {
  const { base, workspace, mistake } = await createWorkspace();
  const entryOf = (tenant: string, key: string): string =>
    `${tenant}=${createHash('sha256').update(key).digest('hex')}\n`;
  const path = join(base, 'keys');
  await writeFile(path, entryOf('acme', 'the-old-key'));
  await writeFile(join(workspace, 'keys'), entryOf('other', 'the-new-key'));
  const service = await startService({ WORKSPACE_DIR: workspace, API_KEYS_FILE: path });
  onTestFinished(() => service.stop());
  await replaceByLink(join(workspace, 'keys'), path);
  const refused = () =>
    service.logLines().filter(({ msg }) => msg === 'invalid API_KEYS_FILE, keeping the previous keys');
  await vi.waitFor(() => expect(refused()).toHaveLength(1), DEADLINE);
  expect(refused()[0]?.['mistakes']).toEqual([mistake(`API_KEYS_FILE '${path}'`)]);
  const statusOf = async (key: string): Promise<number> =>
    (await fetch(`${service.url}/tools`, { headers: { authorization: `Bearer ${key}` } })).status;
  expect(await statusOf('the-old-key')).toBe(200);
  expect(await statusOf('the-new-key')).toBe(401);
});

const toolOf = (name: string): string => `
  import { defineTool, z } from 'recourse-server';
  export const tool = defineTool({
    name: '${name}', description: 'Says its name.', effects: 'read',
    input: z.object({}), output: z.object({ name: z.string() }), run: async () => ({ name: '${name}' }),
  });
`;

test('a version of the tools directory with a file in the workspace is refused as a whole, and the one before serves', async () => {
  const { base, workspace, mistake } = await createWorkspace();
  const tools = join(base, 'tools');
  await mkdir(tools);
  await writeFile(join(tools, 'good.ts'), toolOf('good'));
  await writeFile(join(workspace, 'bad.ts'), toolOf('bad'));
  const service = await startService({ WORKSPACE_DIR: workspace, TOOLS_DIR: tools, TOOL_HOSTS_MIN: '0' });
  onTestFinished(() => service.stop());
  await symlink('../ws/bad.ts', join(tools, 'bad.ts'));
  const refused = () => service.logLines().filter(({ msg }) => msg === 'tools directory cannot be read');
  await vi.waitFor(() => expect(refused()).toHaveLength(1), DEADLINE);
  expect(refused()[0]?.['reason']).toBe(`Error: ${mistake(`TOOLS_DIR '${tools}/bad.ts'`)}`);
  expect(await said(service, 'good')).toMatchObject({ success: true });
  expect(await said(service, 'bad')).toMatchObject({ error: { code: 'unknown_tool' } });
});
