import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createScriptSandbox, ROOT } from './script-sandbox.ts';

test('whatever is not TypeScript is copied to the same place, and nothing else', () => {
  const sandbox = createScriptSandbox();
  sandbox.write('src/main.ts', '');
  sandbox.write('src/sessions/admit.lua', 'return 1');
  sandbox.write('src/a/b/c.json', '{}');
  sandbox.write('src/a/types.d.ts', '');
  sandbox.write('src/a/view.tsx', '');
  sandbox.write('src/a/.DS_Store', '');
  const [from, to] = [join(sandbox.root, 'src'), join(sandbox.root, 'dist')];
  const { status } = spawnSync(process.execPath, [join(ROOT, 'scripts/copy-assets.ts'), from, to]);
  expect(status).toBe(0);
  expect(readdirSync(to, { recursive: true }).sort()).toEqual([
    'a',
    'a/b',
    'a/b/c.json',
    'sessions',
    'sessions/admit.lua',
  ]);
  expect(readFileSync(join(to, 'sessions/admit.lua'), 'utf8')).toBe('return 1');
  sandbox.remove();
});

test('pages, styles, scripts and pictures arrive as they are', () => {
  const sandbox = createScriptSandbox();
  // No text in any encoding.
  const picture = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x00, 0xff, 0xfe, 0x0d, 0x0a]);
  for (const name of ['page.html', 'page.css', 'page.js', 'icon.svg']) sandbox.write(`src/console/${name}`, name);
  writeFileSync(join(sandbox.root, 'src/console/icon.png'), picture);
  const [from, to] = [join(sandbox.root, 'src'), join(sandbox.root, 'dist')];
  const { stdout } = spawnSync(process.execPath, [join(ROOT, 'scripts/copy-assets.ts'), from, to], {
    encoding: 'utf8',
  });
  expect(stdout).toBe(`copied 5 files that are not TypeScript from ${from} to ${to}\n`);
  expect(readFileSync(join(to, 'console/page.html'), 'utf8')).toBe('page.html');
  expect(readFileSync(join(to, 'console/icon.png'))).toEqual(picture);
  sandbox.remove();
});

test('a script that would overwrite what the compiler wrote fails the build', () => {
  const sandbox = createScriptSandbox();
  sandbox.write('src/a/page.ts', '');
  sandbox.write('src/a/page.js', '');
  const words = [join(ROOT, 'scripts/copy-assets.ts'), join(sandbox.root, 'src'), join(sandbox.root, 'dist')];
  const { status, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8' });
  expect(status).toBe(1);
  expect(stderr).toContain('a/page.js and what becomes of a/page.ts have the same name.');
  sandbox.remove();
});
