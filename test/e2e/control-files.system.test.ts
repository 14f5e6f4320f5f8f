import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT, runToEnd, startProcess } from '@recourse/test-support/start-process.ts';
import { callService } from '@recourse/test-support/start-service.ts';
import { expect, onTestFinished, test } from 'vitest';

type Folder = { readonly base: string; readonly workspace: string };

/** A workspace `ws`, and room beside it. */
const createFolder = async (): Promise<Folder> => {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'recourse-control-')));
  onTestFinished(() => rm(base, { recursive: true, force: true }));
  await mkdir(join(base, 'ws'));
  return { base, workspace: join(base, 'ws') };
};

type Settings = Readonly<Record<string, string>>;

/** The lines in which the process says why it does not start. It must not have listened. */
const refusalOf = async (environment: Settings, cwd?: string): Promise<readonly string[]> => {
  const settings = { by: 'node', environment: { PORT: '0', ...environment } } as const;
  const ended = await runToEnd(cwd === undefined ? settings : { ...settings, cwd });
  expect(ended).toMatchObject({ code: 1, signal: null, stdout: '' });
  return ended.stderr.split('\n').slice(0, -1);
};

const WRITABLE = 'where tools that write files could change it. Move one of the two.';
const PART_OF_IT = 'so tools would write files into it. Move one of the two.';
const DIGEST = 'a'.repeat(64);
const TOOL = "export const none = 'no tool';\n";

test('one start names every control file that lies in the workspace, each with its path', async () => {
  const { workspace } = await createFolder();
  const at = (name: string): string => join(workspace, name);
  await mkdir(at('tools'));
  await writeFile(at('tools/roll.ts'), TOOL);
  await writeFile(at('keys.txt'), `acme=${DIGEST}\n`);
  await writeFile(at('google.json'), '{}');
  await writeFile(at('bwrap'), '');
  await writeFile(at('recourse.config.yaml'), '{}');
  expect(
    await refusalOf({
      WORKSPACE_DIR: workspace,
      CONFIG_FILE: at('recourse.config.yaml'),
      TOOLS_DIR: at('tools'),
      API_KEYS_FILE: at('keys.txt'),
      STORE: `sqlite:${at('store.db')}`,
      AUDIT: `file:${at('audit.jsonl')}`,
      GOOGLE_CREDENTIALS_PATH: at('google.json'),
      TOOL_GROUPS: 'shell',
      SHELL_BWRAP_PATH: at('bwrap'),
    }),
  ).toEqual([
    `recourse: CONFIG_FILE '${at('recourse.config.yaml')}' is inside WORKSPACE_DIR '${workspace}', ${WRITABLE}`,
    `recourse: TOOLS_DIR '${at('tools')}' is inside WORKSPACE_DIR '${workspace}', ${WRITABLE}`,
    `recourse: API_KEYS_FILE '${at('keys.txt')}' is inside WORKSPACE_DIR '${workspace}', ${WRITABLE}`,
    `recourse: STORE '${at('store.db')}' is inside WORKSPACE_DIR '${workspace}', ${WRITABLE}`,
    `recourse: AUDIT '${at('audit.jsonl')}' is inside WORKSPACE_DIR '${workspace}', ${WRITABLE}`,
    `recourse: SHELL_BWRAP_PATH '${at('bwrap')}' is inside WORKSPACE_DIR '${workspace}', ${WRITABLE}`,
    `recourse: GOOGLE_CREDENTIALS_PATH '${at('google.json')}' is inside WORKSPACE_DIR '${workspace}', ${WRITABLE}`,
  ]);
});

test('an audit file is refused among tools, also behind a link', async () => {
  const { base, workspace } = await createFolder();
  await mkdir(join(base, 'tools'));
  await symlink(join(base, 'tools'), join(base, 'link'));
  const audit = join(base, 'link/audit.jsonl');
  const settings = { WORKSPACE_DIR: workspace, TOOLS_DIR: join(base, 'tools'), AUDIT: `file:${audit}` };
  expect(await refusalOf(settings)).toEqual([
    `recourse: AUDIT '${audit}' is inside TOOLS_DIR '${base}/tools', where who writes tools could change it. Move one of the two.`,
  ]);
});

test('a working directory in the workspace is refused where the configuration file would be looked for in it', async () => {
  const { base, workspace } = await createFolder();
  expect(await refusalOf({ WORKSPACE_DIR: '.' }, workspace)).toEqual([
    `recourse: CONFIG_FILE '${workspace}/recourse.config.yaml', a standard name, is inside WORKSPACE_DIR '.', ${WRITABLE}`,
  ]);
  await writeFile(join(base, 'recourse.config.yaml'), '{}');
  const environment = { WORKSPACE_DIR: '.', CONFIG_FILE: '../recourse.config.yaml' };
  const running = await startProcess({ by: 'node', environment, cwd: workspace });
  expect(running.logLines()).toContainEqual(expect.objectContaining({ msg: 'configuration file read' }));
});

test('links count by where they lead and by where they lie', async () => {
  const { base, workspace } = await createFolder();
  await writeFile(join(workspace, 'keys'), `acme=${DIGEST}\n`);
  await symlink(join(workspace, 'keys'), join(base, 'keys-link'));
  await writeFile(join(base, 'recourse.config.yaml'), '{}');
  await symlink('../recourse.config.yaml', join(workspace, 'config-link'));
  await mkdir(join(base, 'tools'));
  await writeFile(join(workspace, 'tool.ts'), TOOL);
  await symlink('../ws/tool.ts', join(base, 'tools/tool.ts'));
  await symlink('ws', join(base, 'ws-link'));
  const shown = join(base, 'ws-link');
  expect(
    await refusalOf({
      WORKSPACE_DIR: shown,
      CONFIG_FILE: join(workspace, 'config-link'),
      API_KEYS_FILE: join(base, 'keys-link'),
      TOOLS_DIR: join(base, 'tools'),
    }),
  ).toEqual([
    `recourse: CONFIG_FILE '${workspace}/config-link' is inside WORKSPACE_DIR '${shown}', ${WRITABLE}`,
    `recourse: TOOLS_DIR '${base}/tools/tool.ts' is inside WORKSPACE_DIR '${shown}', ${WRITABLE}`,
    `recourse: API_KEYS_FILE '${base}/keys-link' is inside WORKSPACE_DIR '${shown}', ${WRITABLE}`,
  ]);
});

test('a workspace in the tools directory, or in the service’s own directory, is refused, and so is one around the service', async () => {
  const { base } = await createFolder();
  await mkdir(join(base, 'tools/data'), { recursive: true });
  const inTools = join(base, 'tools/data');
  expect(await refusalOf({ WORKSPACE_DIR: inTools, TOOLS_DIR: join(base, 'tools') })).toEqual([
    `recourse: TOOLS_DIR '${base}/tools' contains WORKSPACE_DIR '${inTools}', ${PART_OF_IT}`,
  ]);
  expect(await refusalOf({ WORKSPACE_DIR: 'src' })).toEqual([
    `recourse: The service's own directory '${ROOT}' contains WORKSPACE_DIR 'src', ${PART_OF_IT}`,
  ]);
  const [around] = await refusalOf({ WORKSPACE_DIR: '.' });
  expect(around).toBe(
    `recourse: CONFIG_FILE '${ROOT}/recourse.config.yaml', a standard name, is inside WORKSPACE_DIR '.', ${WRITABLE}`,
  );
});

test('what the configuration file names is refused by its member, and no value of the file is repeated', async () => {
  const { base, workspace } = await createFolder();
  const server = join(workspace, 'server.mjs');
  await writeFile(server, '');
  await mkdir(join(workspace, 'pkg'));
  const path = join(base, 'c.json');
  const content = {
    mcpServers: {
      script: { command: 'node', args: ['--no-warnings', server] },
      missing: { command: 'node', args: [`--import=file://${workspace}/not-yet.mjs`] },
      program: { command: './ws/run', cwd: base },
      folder: { command: 'uv', args: ['run', '--directory', join(workspace, 'pkg'), 'main.py'] },
      first: { command: 'node', args: [join(workspace, 'pkg')] },
      shell: { command: 'sh', args: ['-c', `exec node ${server}`] },
      cwd: { command: 'node', args: ['server.mjs'], cwd: 'ws/pkg' },
      found: { command: 'serve-files', env: { PATH: `/nowhere:${workspace}:/usr/bin` } },
      away: { url: 'http://127.0.0.1:9/mcp' },
      off: { command: server, disabled: true },
      data: { command: 'npx', args: ['-y', 'server-filesystem', workspace, '--root', join(workspace, 'pkg')] },
    },
    openapi: { pets: { document: './ws/pets.yaml' }, far: { document: 'http://127.0.0.1:9/ws/pets.yaml' } },
  };
  await writeFile(path, JSON.stringify(content));
  const line = (member: string): string =>
    `recourse: CONFIG_FILE ${path}: ${member} is inside WORKSPACE_DIR '${workspace}', ${WRITABLE}`;
  expect(await refusalOf({ WORKSPACE_DIR: workspace, CONFIG_FILE: path })).toEqual([
    line('mcpServers.script.args[1]'),
    line('mcpServers.missing.args[0]'),
    line('mcpServers.program.command'),
    line('mcpServers.folder.args[2]'),
    line('mcpServers.first.args[0]'),
    line('mcpServers.shell.args[1]'),
    line('mcpServers.cwd.cwd'),
    line('mcpServers.found.command'),
    line('openapi.pets.document'),
  ]);
});

test('a server without cwd runs in the directory of the file, to which its paths are relative', async () => {
  const { base, workspace } = await createFolder();
  const path = join(base, 'c.json');
  await writeFile(join(workspace, 'server.mjs'), '');
  await writeFile(path, JSON.stringify({ mcpServers: { here: { command: 'node', args: ['./ws/server.mjs'] } } }));
  expect(await refusalOf({ WORKSPACE_DIR: workspace, CONFIG_FILE: path })).toEqual([
    `recourse: CONFIG_FILE ${path}: mcpServers.here.args[0] is inside WORKSPACE_DIR '${workspace}', ${WRITABLE}`,
  ]);
});

test.each([
  ['unset', {}],
  ['named by its path', { WORKSPACE_DIR: 'examples/workspace' }],
  ['a directory below it', { WORKSPACE_DIR: 'examples/workspace/minutes' }],
])('the example workspace of a checkout is served from: %s', async (_how, environment) => {
  const running = await startProcess({ by: 'node', environment });
  expect(await callService(running.url, [{ name: 'list_files', arguments: {} }])).toMatchObject([{ success: true }]);
});

test('the example workspace is no place for control files either', async () => {
  const path = join(ROOT, 'examples/workspace/none.json');
  expect(await refusalOf({ GOOGLE_CREDENTIALS_PATH: path })).toEqual([
    `recourse: GOOGLE_CREDENTIALS_PATH '${path}' is inside WORKSPACE_DIR '${ROOT}/examples/workspace', ${WRITABLE}`,
  ]);
});

test('what lies beside the workspace, with a name that begins alike, is not in it; notes in it are not code', async () => {
  const { base, workspace } = await createFolder();
  await mkdir(join(base, 'ws-tools'));
  await writeFile(join(base, 'ws-keys'), `acme=${DIGEST}\n`);
  const environment = {
    WORKSPACE_DIR: workspace,
    TOOLS_DIR: join(base, 'ws-tools'),
    API_KEYS_FILE: join(base, 'ws-keys'),
    TOOL_GROUPS: 'notes',
    NOTES_DIR: workspace,
  };
  const running = await startProcess({ by: 'node', environment });
  expect((await fetch(`${running.url}/ready`)).status).toBe(200);
});
