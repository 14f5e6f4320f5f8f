import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { FROM_SOURCES } from '@recourse/test-support/node-flags.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { afterAll, expect, test } from 'vitest';
import * as z from 'zod';

const ROOT = join(import.meta.dirname, '../..');
const directory = realpathSync(mkdtempSync(join(tmpdir(), 'recourse-extensions-')));
afterAll(() => rmSync(directory, { recursive: true }));

const put = (path: string, text: string): void => {
  const file = join(directory, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
};

const putExtension = (path: string, declaration: string): void =>
  put(
    path,
    `import { z } from 'recourse-server';
    import { defineExtension } from 'recourse-server/extension';
    export const extension = defineExtension({ open: async () => ({}), ${declaration} });`,
  );

const Loaded = z.object({
  names: z.array(z.string()),
  settings: z.array(z.string()),
  groups: z.array(z.string()),
  mistakes: z.array(z.string()),
});

// In a process of its own, whose module loader is Node's. `refused`: what the check says of every file.
const load = (names: readonly string[], refused: readonly string[] = []): z.infer<typeof Loaded> => {
  const script = `import { defineExtension } from './src/extensions/extension.ts';
    import { createExtensionSet } from './src/extensions/extension-set.ts';
    import { loadExtensions } from './src/extensions/load-extensions.ts';
    const own = createExtensionSet([
      defineExtension({ name: 'own', settings: { OWN_SETTING: null }, groups: { own: {} }, open: async () => null }),
    ]);
    const { names, directory, refused } = JSON.parse(process.argv[1]);
    const check = async () => refused;
    const { extensions, mistakes } = await loadExtensions({ names, directory, own, settings: ['PORT'], sections: ['tools'], check });
    console.log(JSON.stringify({
      names: extensions.all.map(({ name }) => name),
      settings: Object.keys(extensions.settings),
      groups: [...extensions.groups.keys()],
      mistakes,
    }));`;
  const args = [...FROM_SOURCES, '--input-type=module', '-e', script, JSON.stringify({ names, directory, refused })];
  const options = { cwd: ROOT, encoding: 'utf8', timeout: timeLimit(60_000) } as const;
  const { stdout, stderr } = spawnSync(process.execPath, args, options);
  expect(stderr).toBe('');
  return Loaded.parse(JSON.parse(stdout));
};

test('extensions are loaded by path and by name of a package, each once, behind those of the product', () => {
  putExtension('one.ts', "name: 'one', settings: { ONE_SETTING: z.string() }, groups: { ones: { title: 'Ones' } }");
  put('node_modules/two-package/package.json', '{ "type": "module", "exports": { "import": "./two.js" } }');
  putExtension('node_modules/two-package/two.js', "name: 'two', settings: {}");
  expect(load(['./one.ts', 'two-package', './one.ts'])).toEqual({
    names: ['own', 'one', 'two'],
    settings: ['OWN_SETTING', 'ONE_SETTING'],
    groups: ['own', 'ones'],
    mistakes: [],
  });
});

test('each extension that cannot be loaded is one sentence, and the others are loaded', () => {
  put('throws.ts', "throw new Error('the author threw this');");
  put('other.ts', 'export const extension = { name: "fake" };');
  putExtension('same-name.ts', "name: 'own', settings: {}");
  putExtension('core-setting.ts', "name: 'core-setting', settings: { PORT: z.string() }");
  putExtension('same-setting.ts', "name: 'same-setting', settings: { OWN_SETTING: z.string() }");
  putExtension('same-group.ts', "name: 'same-group', settings: {}, groups: { own: { title: 'Other' } }");
  putExtension('own-section.ts', "name: 'own-section', settings: {}, sources: { tools: async () => z.any() }");
  putExtension('bad-name.ts', "name: 'Bad Name', settings: {}");
  putExtension('bad-setting.ts', "name: 'bad-setting', settings: { lower: z.string() }");
  putExtension('good.ts', "name: 'good', settings: {}");
  const names = [
    'throws',
    'other',
    'same-name',
    'core-setting',
    'same-setting',
    'same-group',
    'own-section',
    'bad-name',
    'bad-setting',
  ];
  const loaded = load(['./none.ts', 'no-package', ...names.map((name) => `./${name}.ts`), './good.ts']);
  expect(loaded.names).toEqual(['own', 'good']);
  expect(loaded.mistakes.map((mistake) => mistake.replaceAll(directory, '.'))).toEqual([
    "EXTENSIONS: './none.ts' cannot be loaded: Cannot find module './none.ts'",
    "EXTENSIONS: 'no-package' cannot be loaded: Cannot find package 'no-package'",
    "EXTENSIONS: './throws.ts' cannot be loaded: the author threw this",
    "EXTENSIONS: './other.ts' exports no extension: write export const extension = defineExtension({ … })",
    "EXTENSIONS: './same-name.ts' has the name of another extension, 'own'",
    "EXTENSIONS: './core-setting.ts' declares PORT, which is a setting already",
    "EXTENSIONS: './same-setting.ts' declares OWN_SETTING, which is a setting already",
    "EXTENSIONS: './same-group.ts' declares the group 'own', which there is already",
    "EXTENSIONS: './own-section.ts' declares the section 'tools', which the configuration file has already",
    "EXTENSIONS: './bad-name.ts' cannot be loaded: The name of an extension must match /^[a-z][a-z0-9-]{0,31}$/: 'Bad Name'.",
    "EXTENSIONS: './bad-setting.ts' cannot be loaded: The name of a setting must match /^[A-Z][A-Z0-9_]{1,63}$/: 'lower'.",
  ]);
});

test('a file that must not be loaded does not run', () => {
  // What it would write, the helper would refuse.
  put('writable.ts', "console.error('it has run');");
  const refusal = "EXTENSIONS './writable.ts' is inside the workspace.";
  expect(load(['./writable.ts'], [refusal]).mistakes).toEqual([refusal]);
});
