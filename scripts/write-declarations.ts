import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import * as z from 'zod';

// Writes the declarations of what the package exports beside its JavaScript: those that an entry in `exports` reaches, of the
// others nobody outside can name a type. Usage: node scripts/write-declarations.ts [to]

const Manifest = z.object({
  exports: z.record(z.string(), z.union([z.string(), z.object({ types: z.string() })])),
  dependencies: z.record(z.string(), z.string()),
});

const { exports, dependencies } = Manifest.parse(JSON.parse(readFileSync('package.json', 'utf8')));

// Up to TypeScript 7.0 `rewriteRelativeImportExtensions` leaves the names in declarations as they are in the sources.
const SPECIFIER = /(\bfrom\s+|\bimport\s*\(?\s*)(["'])([^"']+)\2/g;

const compile = (folder: string): void => {
  const words = ['-p', 'tsconfig.declarations.json', '--outDir', folder];
  const { error, status, stdout } = spawnSync('tsc', words, { encoding: 'utf8' });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`tsc ended with ${status}:\n${stdout}`);
};

/** The modules that this declaration names. Throws where a consumer of the package may not have one of them. */
const namedModules = (path: string, text: string): readonly string[] =>
  [...text.matchAll(SPECIFIER)].flatMap(([, , , name = '']) => {
    if (name.startsWith('.')) return [join(dirname(path), name.replace(/\.ts$/, '.d.ts'))];
    if (!Object.hasOwn(dependencies, name))
      throw new Error(`${path} names types of '${name}', which the package does not install.`);
    return [];
  });

const writeDeclarations = (from: string, to: string): readonly string[] => {
  const entries = Object.values(exports).flatMap((entry) => (typeof entry === 'string' ? [] : [entry.types]));
  const paths = new Set(entries.map((path) => path.replace('./dist/', '')));
  for (const path of paths) {
    const text = readFileSync(join(from, path), 'utf8');
    for (const named of namedModules(path, text)) paths.add(named);
    mkdirSync(dirname(join(to, path)), { recursive: true });
    writeFileSync(
      join(to, path),
      text.replace(SPECIFIER, (whole) => whole.replace(/\.ts(["'])$/, '.js$1')),
    );
  }
  return [...paths];
};

const [to = 'dist'] = process.argv.slice(2);
const from = mkdtempSync(join(tmpdir(), 'recourse-declarations-'));
try {
  compile(from);
  console.log(`wrote ${writeDeclarations(from, to).length} declarations to ${to}`);
} finally {
  rmSync(from, { recursive: true });
}
