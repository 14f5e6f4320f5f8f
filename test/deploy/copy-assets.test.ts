import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createScriptSandbox, ROOT } from './script-sandbox.ts';

test('whatever is not TypeScript is copied to the same place, and nothing else', () => {
  const sandbox = createScriptSandbox();
  sandbox.write('src/main.ts', '');
  sandbox.write('src/sessions/admit.lua', 'return 1');
  sandbox.write('src/a/b/c.json', '{}');
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
