import { afterEach, beforeEach, expect, test } from 'vitest';
import { createScriptSandbox, type ScriptSandbox } from './script-sandbox.ts';

let sandbox: ScriptSandbox;
beforeEach(() => {
  sandbox = createScriptSandbox('scripts/check-node.sh');
  sandbox.write('node_modules/.package-lock.json', '{}');
});
afterEach(() => sandbox.remove());

const check = () => sandbox.run(['sh', 'scripts/check-node.sh']);

test.each(['v24.0.0', 'v26.10.0', 'v100.1.2'])('node %s is accepted without a word', (version) => {
  sandbox.command('node', `echo ${version}`);
  expect(check()).toMatchObject({ status: 0, stdout: '', stderr: '' });
});

test('the real node that runs the tests is accepted', () => {
  sandbox.command('node', `exec ${process.execPath} "$@"`);
  expect(check()).toMatchObject({ status: 0, stdout: '', stderr: '' });
});

test('without dependencies the answer is to install them', () => {
  sandbox.command('node', 'echo v26.10.0');
  sandbox.run(['rm', 'node_modules/.package-lock.json']);
  expect(check()).toMatchObject({
    status: 1,
    stderr: 'recourse: the dependencies are not installed: run npm ci first.\n',
  });
});

test('an old node is named with its version and a way out', () => {
  sandbox.command('node', 'echo v20.20.2');
  expect(check()).toMatchObject({
    status: 1,
    stderr: `recourse: ${sandbox.root}/bin/node is v20.20.2, Node.js 24 or newer is needed: on Linux (x64, arm64) run npm ci, which brings one; elsewhere install it.\n`,
  });
});

test('on macOS the way out is to install one', () => {
  sandbox.command('node', 'echo v20.20.2');
  sandbox.command('uname', 'echo Darwin');
  expect(check()).toMatchObject({
    status: 1,
    stderr: `recourse: ${sandbox.root}/bin/node is v20.20.2, Node.js 24 or newer is needed: run brew install node, or install it from https://nodejs.org.\n`,
  });
});

test('a node that lacks libatomic is told apart, with the package to install', () => {
  sandbox.command(
    'node',
    'echo "node: error while loading shared libraries: libatomic.so.1: cannot open shared object file: No such file" >&2',
    'exit 127',
  );
  expect(check()).toMatchObject({
    status: 1,
    stderr: `recourse: ${sandbox.root}/bin/node needs the library libatomic.so.1: run apt-get install libatomic1 (elsewhere the package is called libatomic).\n`,
  });
});

test('a node that does not run for another reason is reported in one line', () => {
  sandbox.command('node', 'echo "cannot execute" >&2', 'echo "more" >&2', 'exit 126');
  expect(check()).toMatchObject({
    status: 1,
    stderr: `recourse: ${sandbox.root}/bin/node does not run here (cannot execute): install Node.js 24 or newer and delete node_modules/.bin/node.\n`,
  });
});

test('a machine without node, and something else under its name, are refused', () => {
  expect(check()).toMatchObject({
    status: 1,
    stderr: 'recourse: there is no node on PATH: install Node.js 24 or newer.\n',
  });
  sandbox.command('node', 'echo hello');
  expect(check()).toMatchObject({
    status: 1,
    stderr: `recourse: ${sandbox.root}/bin/node answers 'hello' where a version was expected: install Node.js 24 or newer.\n`,
  });
});
