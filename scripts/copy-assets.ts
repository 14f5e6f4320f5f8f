import { copyFileSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

// What tsc compiles, and pages for readers of the sources.
const LEFT_OUT = /\.([cm]?tsx?|md)$/;

// What tsc writes beside an asset of the same name: one of the two would be lost.
const compiledFrom = (file: string): readonly string[] =>
  ['.ts', '.tsx'].map((extension) => file.replace(/\.js$/, extension)).filter((source) => source !== file);

/**
 * The part of the build that tsc leaves out: copies whatever under `src` is neither TypeScript nor Markdown (Lua scripts,
 * pages, pictures) to the same place under `dist`, but for hidden files. Usage: node scripts/copy-assets.ts [from] [to]
 */
const copyAssets = (from: string, to: string): readonly string[] => {
  const files = readdirSync(from, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !LEFT_OUT.test(entry.name) && !entry.name.startsWith('.'))
    .map((entry) => relative(from, join(entry.parentPath, entry.name)));
  for (const file of files) {
    const source = compiledFrom(file).find((each) => existsSync(join(from, each)));
    if (source !== undefined) throw new Error(`${file} and what becomes of ${source} have the same name.`);
    mkdirSync(dirname(join(to, file)), { recursive: true });
    copyFileSync(join(from, file), join(to, file));
  }
  return files;
};

const [from = 'src', to = 'dist'] = process.argv.slice(2);
const copied = copyAssets(from, to);
if (copied.length > 0) console.log(`copied ${copied.length} files that are not TypeScript from ${from} to ${to}`);
