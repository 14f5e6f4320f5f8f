import { copyFileSync, mkdirSync, readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/**
 * The part of the build that tsc leaves out: copies whatever under `src` is not TypeScript (Lua scripts, for example) to
 * the same place under `dist`. Usage: node scripts/copy-assets.ts [from] [to]
 */
const copyAssets = (from: string, to: string): readonly string[] => {
  const files = readdirSync(from, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.ts'))
    .map((entry) => relative(from, join(entry.parentPath, entry.name)));
  for (const file of files) {
    mkdirSync(dirname(join(to, file)), { recursive: true });
    copyFileSync(join(from, file), join(to, file));
  }
  return files;
};

const [from = 'src', to = 'dist'] = process.argv.slice(2);
console.log(`copied ${copyAssets(from, to).length} files that are not TypeScript from ${from} to ${to}`);
