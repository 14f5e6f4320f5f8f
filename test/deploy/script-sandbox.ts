import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { timeLimit } from '@recourse/test-support/time-limit.ts';

/** The root of the checkout. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

// What the scripts may use of the system; everything else is there only if a test puts it there.
const SYSTEM_COMMANDS = [
  'sh',
  'bash',
  'env',
  'dirname',
  'mkdir',
  'ln',
  'rm',
  'mktemp',
  'tail',
  'head',
  'cat',
  'cp',
  'chmod',
];

export type Ran = Pick<SpawnSyncReturns<string>, 'status' | 'stdout' | 'stderr'>;

/** A project root in a temporary directory with scripts of ours, and a PATH on which only chosen commands lie. */
export type ScriptSandbox = {
  readonly root: string;
  /** Writes a file below the root and returns its path. */
  readonly write: (path: string, text: string) => string;
  /** Puts a command on the PATH: a shell script of these lines. */
  readonly command: (name: string, ...lines: readonly string[]) => void;
  readonly run: (words: readonly string[], environment?: Readonly<Record<string, string>>) => Ran;
  readonly remove: () => void;
};

/** Makes a sandbox that holds copies of the given files of the checkout. */
export const createScriptSandbox = (...files: readonly string[]): ScriptSandbox => {
  const root = mkdtempSync(join(tmpdir(), 'recourse-scripts-'));
  const bin = join(root, 'bin');
  mkdirSync(bin);
  for (const name of SYSTEM_COMMANDS) {
    const path = ['/bin', '/usr/bin'].map((directory) => join(directory, name)).find(existsSync);
    if (path !== undefined) symlinkSync(path, join(bin, name));
  }
  for (const file of files) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    cpSync(join(ROOT, file), join(root, file));
  }
  const write = (path: string, text: string): string => {
    const file = join(root, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    return file;
  };
  return {
    root,
    write,
    command: (name, ...lines) => chmodSync(write(join('bin', name), ['#!/bin/sh', ...lines, ''].join('\n')), 0o755),
    run: ([command = '', ...words], environment = {}) =>
      spawnSync(command, words, {
        cwd: root,
        env: { PATH: bin, ...environment },
        encoding: 'utf8',
        timeout: timeLimit(20_000),
      }),
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
};
