import { afterEach, beforeEach, expect, test } from 'vitest';
import { createScriptSandbox, type Ran, type ScriptSandbox } from './script-sandbox.ts';

let sandbox: ScriptSandbox;
beforeEach(() => {
  sandbox = createScriptSandbox('scripts/ensure-chromium.sh', 'scripts/debian-package.sh');
  sandbox.command('id', 'echo 0');
  sandbox.command('apt-get', 'exit 100');
});
afterEach(() => sandbox.remove());

const ensure = (environment: Readonly<Record<string, string>> = {}): Ran =>
  sandbox.run(['sh', 'scripts/ensure-chromium.sh'], environment);
const SILENT = { status: 0, stdout: '', stderr: '' };

test.each(['chromium', 'chromium-browser', 'google-chrome'])('with %s on PATH nothing is done or said', (name) => {
  expect(ensure()).toMatchObject({ status: 1 });
  sandbox.command(name);
  expect(ensure()).toMatchObject(SILENT);
});

test('with CHROMIUM_BIN nothing is done or said, and an empty one counts as none', () => {
  expect(ensure({ CHROMIUM_BIN: '/opt/browser' })).toMatchObject(SILENT);
  expect(ensure({ CHROMIUM_BIN: '' })).toMatchObject({ status: 1 });
});
