import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FROM_SOURCES } from '@recourse/test-support/node-flags.ts';
import { cleanEnvironment, ROOT, runToEnd, startProcess } from '@recourse/test-support/start-process.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';

const makeDirectory = (): string => {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'recourse-serve-')));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
};

type Shown = { readonly code: number; readonly stdout: string; readonly stderr: string };

/** Runs a command as a person does, in a directory of its own. */
const recourse = (words: readonly string[], settings: Readonly<Record<string, string>> = {}): Promise<Shown> =>
  new Promise((resolve, reject) => {
    const options = { cwd: tmpdir(), env: cleanEnvironment(settings), timeout: timeLimit(20_000) };
    execFile('node', [...FROM_SOURCES, join(ROOT, 'src/main.ts'), ...words], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : error.code;
      if (typeof code === 'number') resolve({ code, stdout, stderr });
      else reject(error);
    });
  });

const DOUBLE = `import { defineTool, z } from 'recourse-server';
export const double = defineTool({
  name: 'double',
  description: 'Doubles a number.',
  effects: 'read',
  input: z.object({ number: z.number() }),
  run: ({ number }) => ({ doubled: 2 * number }),
});
`;

test('the environment overrides .env, options override both, and call asks what serves', {
  timeout: timeLimit(60_000),
}, async () => {
  const directory = makeDirectory();
  mkdirSync(join(directory, 'tools'));
  writeFileSync(join(directory, 'tools/double.ts'), DOUBLE);
  writeFileSync(join(directory, '.env'), 'PORT=1\nTOOLS_DIR=nowhere\nCONSOLE=false\nLOG_LEVEL=silent\n');
  const running = await startProcess({
    by: 'node',
    cwd: directory,
    environment: { PORT: '1', LOG_LEVEL: 'info' },
    words: ['--port', '0', '--tools', 'tools'],
  });
  const { url } = running;
  expect(running.stderr().split('\n').slice(0, 3)).toEqual([
    `recourse: settings are also read from ${directory}/.env; the environment overrides them.`,
    `Recourse serves on ${url}.`,
    '  tools    7, 1 of them from tools',
  ]);
  expect((await fetch(`${url}/console`)).status).toBe(404);
  const service = { RECOURSE_URL: url };
  expect(await recourse(['call', 'double', 'number=21'], service)).toEqual({
    code: 0,
    stdout: expect.stringMatching(
      /^double: success\n {2}value {5}\{"doubled":42\}\n {2}executed {2}yes\n {2}duration {2}[\d.]+ ms\n$/,
    ),
    stderr: '',
  });
  const failed = await recourse(['call', 'double', 'number=x', '--session', 's', '--url', url]);
  expect([failed.code, failed.stderr]).toEqual([1, '']);
  expect(failed.stdout).toMatch(
    /^double: retry, invalid_arguments\n {2}message {3}Invalid arguments for 'double'.*\n {2}executed {2}no\n {2}retry {5}allowed, 3 of 3 left in this session\n/s,
  );
  const json = await recourse(['call', 'double', '--args', '{"number":1}', '--json'], service);
  expect(JSON.parse(json.stdout)).toMatchObject({ name: 'double', success: true, value: { doubled: 2 } });
});

test('a file of variables that cannot be read is one of the mistakes', async () => {
  const directory = makeDirectory();
  mkdirSync(join(directory, '.env'));
  const ended = await runToEnd({ by: 'node', cwd: directory, words: ['--port', 'eighty'] });
  expect(ended).toMatchObject({ code: 1, stdout: '' });
  expect(ended.stderr.split('\n').slice(0, -1)).toEqual([
    `recourse: The environment file ${directory}/.env cannot be read (EISDIR): fix it, or name another with --env-file.`,
    'recourse: PORT must be a whole number',
  ]);
});

test('the first line of .env counts behind a byte order mark, as Windows writes one', async () => {
  const directory = makeDirectory();
  writeFileSync(join(directory, '.env'), '\ufeffPORT=eighty\r\nCONSOLE=false\r\n');
  const ended = await runToEnd({ by: 'node', cwd: directory });
  expect(ended).toMatchObject({ code: 1, stdout: '' });
  expect(ended.stderr).toContain('recourse: PORT must be a whole number');
});

test.each([
  ['with', '\ufeff'],
  ['without', ''],
])('a .env in UTF-16 %s a byte order mark is refused at the start', async (_case, mark) => {
  const directory = makeDirectory();
  writeFileSync(join(directory, '.env'), `${mark}PORT=0\r\n`, 'utf16le');
  const ended = await runToEnd({ by: 'node', cwd: directory });
  expect(ended).toMatchObject({ code: 1, stdout: '' });
  expect(ended.stderr.split('\n')[0]).toBe(
    `recourse: The environment file ${directory}/.env is not UTF-8 text (it contains NUL, as UTF-16 does): save it as UTF-8.`,
  );
});

test('a file of variables that tools could write is refused', async () => {
  const directory = makeDirectory();
  const file = join(directory, 'ours.env');
  writeFileSync(file, 'WORKSPACE_DIR=/tmp\n');
  const environment = { WORKSPACE_DIR: directory, PORT: '0' };
  const ended = await runToEnd({ by: 'node', environment, words: ['serve', '--env-file', file] });
  expect(ended.code).toBe(1);
  expect(ended.stderr).toContain(
    `recourse: The environment file '${file}' is inside WORKSPACE_DIR '${directory}', where tools that write files could change it. Move one of the two.\n`,
  );
});

test('call starts a service of its own for a directory, whatever the settings of serving say', async () => {
  const directory = makeDirectory();
  writeFileSync(join(directory, 'double.ts'), DOUBLE);
  const settings = { API_KEYS: 'none', REDIS_URL: 'redis://127.0.0.1:1', PORT: '1', HOST: '0.0.0.0' };
  const { code, stdout, stderr } = await recourse(['call', '--tools', directory, 'double', 'number=4'], settings);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toContain('{"doubled":8}');
  expect(await recourse(['call', '--tools', join(directory, 'none'), 'double'])).toEqual({
    code: 2,
    stdout: '',
    stderr: `recourse: ${directory}/none does not exist.\nRun recourse call --help for its arguments and options.\n`,
  });
});

test('who reads only the beginning of what is shown gets no stack of it', async () => {
  const main = join(ROOT, 'src/main.ts');
  const shown = await new Promise((resolve) => {
    execFile(
      'sh',
      ['-c', `node ${FROM_SOURCES.join(' ')} '${main}' --help | true`],
      { env: cleanEnvironment({}) },
      (error, stdout, stderr) => resolve({ error, stdout, stderr }),
    );
  });
  expect(shown).toEqual({ error: null, stdout: '', stderr: '' });
});

test('a call says what of its directory does not serve', { timeout: timeLimit(30_000) }, async () => {
  const directory = makeDirectory();
  writeFileSync(join(directory, 'echo.ts'), DOUBLE.replace("'double'", "'echo'"));
  writeFileSync(join(directory, 'broken.ts'), 'export const = 1;\n');
  const { code, stderr } = await recourse(['call', '--tools', directory, 'echo', 'text=a']);
  expect(code).toBe(0);
  expect(stderr.split('\n').toSorted()).toEqual([
    '',
    "recourse: The service has a built-in tool called 'echo'. Rename the one in echo.ts.",
    expect.stringMatching(/^recourse: broken\.ts:1:14: Syntax error: /),
  ]);
});

test('check names each file that does not load, and ends with 1', async () => {
  const directory = makeDirectory();
  writeFileSync(join(directory, 'double.ts'), DOUBLE);
  writeFileSync(join(directory, 'broken.ts'), 'export const = 1;\n');
  const shown = await recourse(['check', directory]);
  expect([shown.code, shown.stderr]).toEqual([1, '']);
  expect(shown.stdout).toMatch(/^recourse-serve-\w+\/broken\.ts:1:\d+: .+\n {2}export const = 1;\n +\^\n/);
  expect(shown.stdout).toMatch(/\n1 tool: double; 1 problem\n$/);
  const json = await recourse(['check', directory, '--json']);
  expect([json.code, JSON.parse(json.stdout)]).toEqual([
    1,
    {
      ok: false,
      tools: ['double'],
      problems: [expect.objectContaining({ level: 'error', file: 'broken.ts' })],
      processes: [{ files: ['double.ts'], variables: [] }],
    },
  ]);
});

test('check ends with 1 where a tool that can look for its writes does not send its effect id', async () => {
  const directory = makeDirectory();
  const members = "effects: 'write', reconcile: ({ effectId }) => didNotHappen(effectId)";
  const text = DOUBLE.replace(/effects: '\w+'/, members).replace('defineTool,', 'defineTool, didNotHappen,');
  writeFileSync(join(directory, 'double.ts'), text);
  const { code, stdout } = await recourse(['check', directory]);
  expect(code).toBe(1);
  expect(stdout).toMatch(
    /double\.ts:\d+:\d+: Tool 'double' has a reconcile, but its run does not use effectId: a later look /,
  );
  expect(stdout).toMatch(/\n1 tool: double; 1 problem\n$/);
});

test('check says which files share processes, and the names of the variables that they share', async () => {
  const directory = makeDirectory();
  for (const name of ['a', 'b', 'alone']) {
    const members = name === 'alone' ? "name: 'alone', isolation: 'own'" : `name: '${name}', env: ['ROOMS_KEY']`;
    writeFileSync(join(directory, `${name}.ts`), DOUBLE.replace("name: 'double'", members));
  }
  const file = join(makeDirectory(), 'variables');
  const variables = ['TOOLS_ENV=SHARED', 'TOOLS_ENV_ALLOW=ROOMS_*', 'SHARED=first-value', 'ROOMS_KEY=second-value'];
  writeFileSync(file, variables.join('\n'));
  const { stdout, stderr } = await recourse(['check', directory, '--env-file', file]);
  expect([stdout, stderr]).toEqual([
    '2 files share processes: a.ts, b.ts; variables that they share: SHARED, ROOMS_KEY\n3 tools: a, alone, b; no problems\n',
    '',
  ]);
  writeFileSync(file, [...variables, 'TOOLS_ISOLATION=own'].join('\n'));
  const own = await recourse(['check', directory, '--env-file', file]);
  expect(own.stdout).toBe('3 tools: a, alone, b; no problems\n');
});

test('check refuses a configuration file with a mistake in it, or one that does not fit the tools', async () => {
  const directory = makeDirectory();
  writeFileSync(join(directory, 'double.ts'), DOUBLE);
  const config = join(makeDirectory(), 'c.yaml');
  const variables = join(makeDirectory(), 'variables');
  writeFileSync(variables, `CONFIG_FILE=${config}`);
  const check = async (tools: string) => {
    writeFileSync(config, `tools: { ${tools} }`);
    return recourse(['check', directory, '--env-file', variables]);
  };
  const wrong = await check('double: { effectId: { argument: text } }');
  expect([wrong.code, wrong.stdout]).toEqual([2, '']);
  expect(wrong.stderr).toContain(
    `CONFIG_FILE ${config} line 1, column 32: tools.double.effectId.argument: must be a JSON Pointer into the arguments, such as /reference`,
  );
  const unfit = await check("'dou*': { effectId: { argument: /text } }");
  expect([unfit.code, unfit.stdout]).toEqual([2, '']);
  expect(unfit.stderr).toContain(
    `CONFIG_FILE ${config}: Tool 'double': tools['dou*'].effectId does not fit it: it is written in code: use context.effectId in its code, and remove effectId here.`,
  );
  const unasked = await check('double: { effects: write, reconcile: { tool: list, happened: /items/0 } }');
  expect([unasked.code, unasked.stdout]).toEqual([2, '']);
  expect(unasked.stderr).toContain(
    `CONFIG_FILE ${config}: Tool 'double': reconcile asks 'list', and no such tool serves.`,
  );
  expect(await check('double: { retries: 0 }')).toMatchObject({ code: 0, stdout: '1 tool: double; no problems\n' });
});

test('check shows the name of a file without its control characters', async () => {
  const directory = makeDirectory();
  writeFileSync(join(directory, 'bad\u001b]0;title\u0007\u009b31m.ts'), 'export const = 1;\n');
  const { stdout, stderr } = await recourse(['check', directory]);
  expect(stdout).toMatch(/^recourse-serve-\w+\/bad.*\.ts:1:\d+: /);
  expect(`${stdout}${stderr}`.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
});
