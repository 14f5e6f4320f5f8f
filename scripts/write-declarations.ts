import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import * as z from 'zod';

// Writes the declarations of what the package exports beside its JavaScript: those that an entry in `exports` reaches, for
// nobody outside can name a type of the others. Usage: node scripts/write-declarations.ts [to]

const Entry = z.object({ '@recourse/source': z.string(), types: z.string() });
const Manifest = z.object({
  exports: z.record(z.string(), z.union([z.string(), Entry])),
  dependencies: z.record(z.string(), z.string()),
});

const { exports, dependencies } = Manifest.parse(JSON.parse(readFileSync('package.json', 'utf8')));
const entries = Object.values(exports).filter((entry) => typeof entry !== 'string');

const compile = (folder: string): void => {
  const configuration = {
    extends: resolve('tsconfig.build.json'),
    compilerOptions: {
      declaration: true,
      emitDeclarationOnly: true,
      rootDir: resolve('src'),
      outDir: folder,
      typeRoots: [resolve('node_modules/@types')],
    },
    files: entries.map((entry) => resolve(entry['@recourse/source'])),
    include: [],
  };
  const file = join(folder, 'tsconfig.json');
  writeFileSync(file, JSON.stringify(configuration));
  const { error, status, stdout } = spawnSync('tsc', ['-p', file], { encoding: 'utf8' });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`tsc ended with ${status}:\n${stdout}`);
};

// Up to TypeScript 7.0 `rewriteRelativeImportExtensions` leaves the names in declarations as they are in the sources.
const SPECIFIER = /(\bfrom\s+|\bimport\s*\(?\s*)(["'])([^"']+)\2/g;

/** The declarations that this one names. Throws where it names a package that a user may not have, such as Node's types. */
const namedDeclarations = (path: string, text: string): readonly string[] =>
  [...text.matchAll(SPECIFIER)].flatMap(([, , , name = '']) => {
    if (name.startsWith('.')) return [join(dirname(path), name.replace(/\.ts$/, '.d.ts'))];
    if (Object.hasOwn(dependencies, name)) return [];
    throw new Error(`${path} names types of '${name}', which the package does not install.`);
  });

const writeDeclarations = (from: string, to: string): readonly string[] => {
  // It grows while it is walked.
  const paths = new Set(entries.map(({ types }) => types.replace('./dist/', '')));
  for (const path of paths) {
    const text = readFileSync(join(from, path), 'utf8');
    for (const named of namedDeclarations(path, text)) paths.add(named);
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
