import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import * as z from 'zod';

// Writes the declarations of what the package exports beside its JavaScript: those that an entry of people reaches, for nobody
// outside can name a type of the others; and those of the packages inside it that these name.
// Usage: node scripts/write-declarations.ts [to]

const Entry = z.object({ '@recourse/source': z.string(), types: z.string() });
const Manifest = z.object({
  exports: z.record(z.string(), z.unknown()),
  dependencies: z.record(z.string(), z.string()),
});

const { exports, dependencies } = Manifest.parse(JSON.parse(readFileSync('package.json', 'utf8')));
const entries = Object.values(exports).flatMap((entry) => {
  const parsed = Entry.safeParse(entry);
  return parsed.success ? [parsed.data] : [];
});

const compile = (folder: string): void => {
  const configuration = {
    extends: resolve('tsconfig.build.json'),
    compilerOptions: {
      declaration: true,
      emitDeclarationOnly: true,
      rootDir: resolve('.'),
      outDir: folder,
      typeRoots: [resolve('node_modules/@types')],
    },
  };
  const file = join(folder, 'tsconfig.json');
  writeFileSync(file, JSON.stringify(configuration));
  const { error, status, stdout } = spawnSync('tsc', ['-p', file], { encoding: 'utf8' });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`tsc ended with ${status}:\n${stdout}`);
};

// Up to TypeScript 7.0 `rewriteRelativeImportExtensions` leaves the names in declarations as they are in the sources.
const SPECIFIER = /(\bfrom\s+|\bimport\s*\(?\s*)(["'])([^"']+)\2/g;
const NAMED = /^(?:recourse-server|@recourse\/([a-z-]+))\/(.+)$/;

/** The declaration that a name means, from the root of the sources on; null where that is another package's. */
const toDeclaration = (from: string, name: string): string | null => {
  if (name.startsWith('.')) return join(dirname(from), name.replace(/\.ts$/, '.d.ts'));
  const [, unit, path] = NAMED.exec(name) ?? [];
  if (path === undefined) return null;
  return unit === undefined ? `src/${path}.d.ts` : `packages/${unit}/src/${path}.d.ts`;
};

/** The declarations that this one names. Throws where it names a package that a user may not have, such as Node's types. */
const namedDeclarations = (from: string, text: string): readonly string[] =>
  [...text.matchAll(SPECIFIER)].flatMap(([, , , name = '']) => {
    const declaration = toDeclaration(from, name);
    if (declaration !== null) return [declaration];
    if (Object.hasOwn(dependencies, name)) return [];
    throw new Error(`${from} names types of '${name}', which the package does not install.`);
  });

/** `src/…` → `dist/…`, `packages/NAME/src/…` → `packages/NAME/dist/…`. */
const toBuilt = (path: string): string => path.replace(/^((?:packages\/[a-z-]+\/)?)src\//, '$1dist/');

const writeDeclarations = (from: string, to: string): readonly string[] => {
  // It grows while it is walked.
  const paths = new Set(entries.map((entry) => entry['@recourse/source'].replace(/^\.\/(.*)\.ts$/, '$1.d.ts')));
  for (const path of paths) {
    const text = readFileSync(join(from, path), 'utf8');
    for (const named of namedDeclarations(path, text)) paths.add(named);
    const written = join(to, toBuilt(path));
    mkdirSync(dirname(written), { recursive: true });
    writeFileSync(
      written,
      text.replace(SPECIFIER, (whole) => whole.replace(/\.ts(["'])$/, '.js$1')),
    );
  }
  return [...paths];
};

const [to = '.'] = process.argv.slice(2);
const from = mkdtempSync(join(tmpdir(), 'recourse-declarations-'));
try {
  compile(from);
  console.log(`wrote ${writeDeclarations(from, to).length} declarations beside what was built`);
} finally {
  rmSync(from, { recursive: true });
}
