/** Where something stands in the file: names of members and places in lists. */
export type ValuePath = readonly (string | number)[];

/** Counted from 1, as editors do. */
export type TextPlace = { readonly line: number; readonly column: number };

/** What is wrong with the file. Never holds a value of it: that may be a secret. */
export type Mistake = { readonly path: ValuePath; readonly problem: string; readonly place: TextPlace | null };

// Whoever reads them mends the first few, or sees that the file is the wrong one.
const MAX_MISTAKES = 20;

/** One line for each of the first twenty, and one that counts the others. */
export const toMistakeLines = (file: string, mistakes: readonly Mistake[]): readonly string[] => {
  const lines = mistakes.slice(0, MAX_MISTAKES).map((mistake) => toLine(file, mistake));
  const more = mistakes.length - lines.length;
  return more === 0 ? lines : [...lines, `CONFIG_FILE ${file}: … and ${more} more`];
};

const toLine = (file: string, { path, problem, place }: Mistake): string => {
  const where = place === null ? '' : ` line ${place.line}, column ${place.column}`;
  return `CONFIG_FILE ${file}${where}: ${path.length === 0 ? '' : `${toPathText(path)} `}${problem}`;
};

const SHOWN = 80;

/** A name of the file as a line may show it. */
export const toNameText = (name: string): string => JSON.stringify(name.slice(0, SHOWN)).slice(1, -1);

/** `mcpServers.github.args[1]`, and `tools['github_*']` where a name is no word. */
export const toPathText = (path: ValuePath): string =>
  path
    .map((step, place) => {
      if (typeof step === 'number') return `[${step}]`;
      const name = toNameText(step);
      if (!/^[\w$-]+$/.test(name)) return `['${name}']`;
      return place === 0 ? name : `.${name}`;
    })
    .join('');
