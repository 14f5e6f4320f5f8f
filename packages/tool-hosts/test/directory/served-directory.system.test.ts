import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runToEnd, startProcess } from '@recourse/test-support/start-process.ts';
import { callService } from '@recourse/test-support/start-service.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { ToolCatalogue } from 'recourse-server/internal/contract/tool-description.ts';
import { expect, test } from 'vitest';

type FileOptions = { readonly imports?: string; readonly isolation?: 'process' | 'inline' };

/** A file with tools that give what their expressions say, by name. */
const toolFile = (
  tools: Readonly<Record<string, string>>,
  { imports = '', isolation = 'process' }: FileOptions = {},
): string => `
  import { defineTool, z } from 'recourse-server';
  ${imports}
  const tool = (name, run) =>
    defineTool({ name, description: '', effects: 'read', isolation: '${isolation}', input: z.object({}), run });
  export const tools = [
    ${Object.entries(tools)
      .map(([name, expression]) => `tool('${name}', () => ${expression})`)
      .join(',\n')}
  ];
`;

// These tests are not about load: a busy machine must not have their batches refused.
const CALM = { MAX_EVENT_LOOP_LAG_MS: '60000' };

const serve = async (root: string, environment: Readonly<Record<string, string>> = {}) => {
  const running = await startProcess({ by: 'node', environment: { TOOLS_DIR: root, ...CALM, ...environment } });
  const catalogue = async (): Promise<readonly string[]> => {
    const { tools } = ToolCatalogue.parse(await (await fetch(`${running.url}/tools`)).json());
    return tools
      .filter(({ source }) => source !== 'builtin')
      .map((tool) => `${tool.name} ${tool.available} ${tool.unavailable_reason ?? tool.outdated_reason ?? ''}`.trim());
  };
  const call = async (name: string): Promise<unknown> => {
    const [result] = await callService(running.url, [{ name, arguments: {} }]);
    return result?.success ? result.value : result?.error?.code;
  };
  const becomes = (look: () => Promise<unknown>, expected: unknown): Promise<void> =>
    expect.poll(look, { timeout: timeLimit(15_000), interval: 50 }).toEqual(expected);
  return { running, catalogue, call, becomes };
};

test('files are served without a build, import each other, and one that breaks stands alone in the catalogue', async () => {
  const { root } = makeDirectory({
    'typed.ts': toolFile(
      { typed: 'twice(21) satisfies number' },
      { imports: "import { twice } from './lib/twice.ts';" },
    ),
    'lib/twice.ts': 'export const twice = (value: number): number => value * 2;',
    'plain.mjs': toolFile({ plain: "'plain'" }),
    'many.ts': `import { defineTool, z } from 'recourse-server';
      const tool = (name: string) =>
        defineTool({ name, description: '', effects: 'read', input: z.object({}), run: () => name });
      export default tool('by_default');
      export const list = [tool('listed_one'), tool('listed_two')];
      export const again = list[0];
      const local = tool('kept_local');
      export const nothing = local.name;`,
    'syntax.ts': 'export const = 1;',
    'throws.ts': "throw new Error('no licence');",
    'loops.ts': 'for (;;);',
    'waits.ts': 'await new Promise(() => setInterval(() => undefined, 1000)); export {};',
    'leaves.ts': 'process.exit(0);',
    'undeclared.ts': toolFile({ 'bad name!': '1' }),
  });
  const { catalogue, call } = await serve(root);
  const lines = await catalogue();
  expect(lines.filter((line) => line.split(' ')[1] === 'true')).toEqual([
    'by_default true',
    'listed_one true',
    'listed_two true',
    'plain true',
    'typed true',
  ]);
  const broken = lines.filter((line) => line.split(' ')[1] === 'false');
  const names = broken.map((line) => line.split(' ')[0]);
  expect(names).toEqual(['kept_local', 'leaves', 'loops', 'syntax', 'throws', 'undeclared', 'waits']);
  expect(broken[0]).toContain("many.ts:3:9: The tool 'kept_local' is declared but not exported");
  expect(broken[4]).toContain("throws.ts:1:7: Error: no licence\nthrow new Error('no licence');\n      ^");
  expect(broken[5]).toContain('bad name!');
  for (const line of broken) expect(line).not.toContain(root);
  const values = await Promise.all(['typed', 'plain', 'by_default', 'listed_two'].map(call));
  expect(values).toEqual([42, 'plain', 'by_default', 'listed_two']);
  expect(await call('throws')).toBe('tool_unavailable');
});

test('while the service runs a tool is added, changed, broken, mended and removed', async () => {
  const { root, write, remove } = makeDirectory({ 'a.ts': toolFile({ a: "'first'" }) });
  const { catalogue, call, becomes, running } = await serve(root);
  expect(await call('a')).toBe('first');
  write('b.ts', toolFile({ b: "'second'" }));
  await becomes(() => call('b'), 'second');
  write('a.ts', toolFile({ a: "'changed'" }));
  await becomes(() => call('a'), 'changed');
  write('a.ts', 'export const = 1;');
  expect(await running.logged('tool file cannot be loaded')).toMatchObject({
    file: 'a.ts',
    line: 1,
    column: 14,
    reason: 'a.ts:1:14: Syntax error: Unexpected token `=`. Expected yield, an identifier, [ or {.',
    excerpt: 'export const = 1;\n             ^',
    serves: 'previous version',
  });
  expect(await catalogue()).toEqual([expect.stringMatching(/^a true \S/), 'b true']);
  expect(await call('a')).toBe('changed');
  write('a.ts', toolFile({ a: "'mended'" }));
  await becomes(() => call('a'), 'mended');
  expect(await catalogue()).toEqual(['a true', 'b true']);
  remove('b.ts');
  await becomes(() => call('b'), 'unknown_tool');
});

const DIES = '{ process.exit(1); }';

test('the last good version is loaded again from memory when its process dies and its files are broken or gone', async () => {
  const { root, write, remove } = makeDirectory({
    'a.ts': toolFile({ a: 'word', die: DIES }, { imports: "import { word } from './lib/word.ts';" }),
    'lib/word.ts': "export const word = 'good';",
  });
  const { call, running } = await serve(root);
  expect(await call('a')).toBe('good');
  write('a.ts', 'export const = 1;');
  remove('lib/word.ts');
  await running.logged('tool file cannot be loaded');
  expect(await call('die')).toBe('tool_crashed');
  expect(await call('a')).toBe('good');
});

test('a mounted volume that is swapped for a broken one leaves the version before serving, also in new processes', async () => {
  const { root, write } = makeDirectory({ '..v1/a.ts': toolFile({ a: "'v1'", die: DIES }) });
  symlinkSync('..v1', join(root, '..data'));
  symlinkSync('..data/a.ts', join(root, 'a.ts'));
  const { call, running } = await serve(root);
  expect(await call('a')).toBe('v1');
  write('..v2/a.ts', 'export const = 1;');
  symlinkSync('..v2', join(root, '..new'));
  renameSync(join(root, '..new'), join(root, '..data'));
  rmSync(join(root, '..v1'), { recursive: true });
  await running.logged('tool file cannot be loaded');
  expect(await call('die')).toBe('tool_crashed');
  expect(await call('a')).toBe('v1');
});

test('a checkout of git-sync serves each commit as soon as its link is swapped, though the one before is deleted', async () => {
  const { root, write } = makeDirectory({
    'node_modules/@team/names/package.json': '{ "type": "module", "exports": "./names.js" }',
    'node_modules/@team/names/names.js': "export const team = 'docs';",
  });
  // As it does it: a hidden checkout for each commit, and a link to the newest, which is renamed into its place.
  const publish = (commit: string, word: string, before?: string): void => {
    const imports = "import { word } from './lib/word.ts'; import { team } from '@team/names';";
    write(`.worktrees/${commit}/.git`, 'gitdir: ../../.git/worktrees/x');
    write(`.worktrees/${commit}/tools/package.json`, '{ "type": "module" }');
    write(`.worktrees/${commit}/tools/lib/word.ts`, `export const word = '${word}';`);
    write(
      `.worktrees/${commit}/tools/a.ts`,
      word === '' ? 'export const = 1;' : toolFile({ a: 'team + word', die: DIES }, { imports }),
    );
    symlinkSync(join('.worktrees', commit), join(root, 'tmp-link'));
    renameSync(join(root, 'tmp-link'), join(root, 'current'));
    if (before !== undefined) rmSync(join(root, '.worktrees', before), { recursive: true });
  };
  publish('aa01', ' one');
  const { call, becomes, running } = await serve(join(root, 'current/tools'));
  expect(await call('a')).toBe('docs one');
  publish('bb02', ' two', 'aa01');
  await becomes(() => call('a'), 'docs two');
  publish('cc03', '', 'bb02');
  await running.logged('tool file cannot be loaded');
  // A new process has the version that served, too.
  expect(await call('die')).toBe('tool_crashed');
  expect(await call('a')).toBe('docs two');
  publish('aa01', ' one', 'cc03');
  await becomes(() => call('a'), 'docs one');
});

test('TOOLS_INLINE lets a tool run inside the service, in its newest version, and no other', async () => {
  const imports = "import { step } from './step.ts';";
  const { root, write } = makeDirectory({
    'step.ts': 'export const step: number = 1;',
    'in.ts': toolFile({ in: '[process.ppid, step]' }, { imports, isolation: 'inline' }),
    'wants.ts': toolFile({ wants_in: '[process.ppid, step]' }, { imports, isolation: 'inline' }),
    'out.ts': toolFile({ out: '[process.ppid, step]' }, { imports }),
  });
  const { call, becomes, running } = await serve(root, { TOOLS_INLINE: 'in,out' });
  // This process started the service; the service started the others.
  expect(await call('in')).toEqual([process.pid, 1]);
  const outside = [expect.any(Number), 1];
  expect([await call('wants_in'), await call('out')]).toEqual([outside, outside]);
  expect([await call('wants_in'), await call('out')]).not.toContainEqual([process.pid, 1]);
  expect(running.logLines().filter(({ tool }) => tool === 'wants_in')).toMatchObject([
    { level: 40, msg: 'tool runs in a separate process: TOOLS_INLINE does not name it', file: 'wants.ts' },
  ]);
  write('step.ts', 'export const step: number = 2;');
  await becomes(() => call('in'), [process.pid, 2]);
});

test('a tools directory that cannot be read ends the start with one clear line', async () => {
  const { root } = makeDirectory({ 'a.ts': '' });
  const none = await runToEnd({ by: 'node', environment: { TOOLS_DIR: join(root, 'none') } });
  expect(none).toMatchObject({ code: 1, stderr: `recourse: TOOLS_DIR ${root}/none does not exist.\n` });
  const file = await runToEnd({ by: 'node', environment: { TOOLS_DIR: join(root, 'a.ts') } });
  expect(file).toMatchObject({ code: 1, stderr: `recourse: TOOLS_DIR ${root}/a.ts is not a directory.\n` });
  mkdirSync(join(root, 'big'));
  for (let number = 0; number < 1001; number += 1) writeFileSync(join(root, `big/f${number}.json`), '{}');
  const big = await runToEnd({ by: 'node', environment: { TOOLS_DIR: join(root, 'big') } });
  expect(big.code).toBe(1);
  expect(big.stderr).toBe(`recourse: TOOLS_DIR ${root}/big contains more than 1000 source files.\n`);
});
