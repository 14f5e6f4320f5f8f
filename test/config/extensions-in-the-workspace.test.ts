import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readExtensions } from '#src/config/read-configuration.ts';

test('a module of EXTENSIONS in the workspace is a mistake, and does not run', async () => {
  const workspace = mkdtempSync(join(tmpdir(), 'recourse-workspace-'));
  onTestFinished(() => rmSync(workspace, { recursive: true }));
  const file = join(workspace, 'clock.mjs');
  writeFileSync(file, 'globalThis.extensionHasRun = true;');
  const { mistakes, extensions } = await readExtensions({ EXTENSIONS: file, WORKSPACE_DIR: workspace });
  expect(mistakes).toHaveLength(1);
  expect(mistakes[0]).toContain(`EXTENSIONS '${file}' is inside WORKSPACE_DIR '${workspace}'`);
  expect(Reflect.get(globalThis, 'extensionHasRun')).toBeUndefined();
  expect(extensions.all.map(({ name }) => name)).toContain('console');
});
