import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';

export type TemporaryDirectory = {
  /** Absolute, without symbolic links. */
  readonly root: string;
  /** Writes a file, and the folders on its way. */
  readonly write: (name: string, content: string) => void;
  readonly remove: (name: string) => void;
};

/** A directory on the real disk, gone when the test ends. */
export const makeDirectory = (files: Readonly<Record<string, string>> = {}): TemporaryDirectory => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'recourse-tools-')));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const write = (name: string, content: string): void => {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), content);
  };
  for (const [name, content] of Object.entries(files)) write(name, content);
  return { root, write, remove: (name) => rmSync(join(root, name)) };
};
