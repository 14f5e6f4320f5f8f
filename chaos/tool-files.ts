import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A copy of chaos/tools that may be broken and changed while services serve it. */
export type ToolFiles = {
  readonly directory: string;
  /** A text that no engine can read. */
  readonly break: () => void;
  readonly restore: () => void;
  /** Valid, and `sum` says another version from then on; gives that version. */
  readonly change: () => number;
};

const CHANGED = 'version.ts';

export const copyToolFiles = (directory: string): ToolFiles => {
  cpSync(join(import.meta.dirname, 'tools'), directory, { recursive: true });
  const path = join(directory, CHANGED);
  const first = readFileSync(path, 'utf8');
  let [version, text] = [1, first];
  return {
    directory,
    break: () => writeFileSync(path, `${text}\nexport const = {{{ broken`),
    restore: () => writeFileSync(path, text),
    change: () => {
      version += 1;
      text = first.replace(/= \d+;/, `= ${version};`);
      writeFileSync(path, text);
      return version;
    },
  };
};

/** The names that the files declare. */
export const toToolNames = (directory: string): readonly string[] =>
  readdirSync(directory).flatMap(
    (file) => readFileSync(join(directory, file), 'utf8').match(/(?<=name: ')\w+(?=')/g) ?? [],
  );
