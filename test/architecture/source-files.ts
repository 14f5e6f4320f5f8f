import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';

/** `later`: by a call of `import`. */
export type Import = { readonly from: string; readonly kind: 'type' | 'value' | 'later' };
export type SourceFile = {
  /** Relative to `src`, e.g. `executor/run-call.ts`; of a package, `@cli/program.ts`. */
  readonly path: string;
  /** Its text without comments. */
  readonly code: string;
  readonly lines: number;
  /** Files of the service and of its packages. */
  readonly local: readonly Import[];
  /** Packages and node: modules. */
  readonly packages: readonly Import[];
};

const ROOT = join(import.meta.dirname, '../..');
const IMPORT = /^(import|export)\s+(type\s+)?[^;'"]*?from\s+'([^']+)'|^import\s+'([^']+)'|\bimport\('([^']+)'\)/gm;

const withoutComments = (text: string): string =>
  text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '$1');

const toImports = (code: string): readonly Import[] =>
  [...code.matchAll(IMPORT)].map(([, , type, from, bare, dynamic]) => ({
    from: from ?? bare ?? dynamic ?? '',
    kind: dynamic !== undefined ? 'later' : type === undefined ? 'value' : 'type',
  }));

// `src/executor/call.ts` → `executor/call.ts`, `packages/cli/src/program.ts` → `@cli/program.ts`.
const toPath = (absolute: string): string =>
  relative(ROOT, absolute)
    .replace(/^src\//, '')
    .replace(/^packages\/([a-z-]+)\/src\//, '@$1/');

// What names a file of the service from one of its packages, or a file of a package from elsewhere.
const NAMED = /^(?:recourse-server|@recourse\/([a-z-]+))(?:\/(.+))?$/;

const toNamedPath = (from: string): string | null => {
  const [named, unit, path] = NAMED.exec(from) ?? [];
  if (named === undefined) return null;
  // Without a path it is the entry.
  return unit === undefined ? `${path ?? 'recourse'}.ts` : `@${unit}/${path ?? unit}.ts`;
};

const toSourceFile = (absolute: string): SourceFile => {
  const text = readFileSync(absolute, 'utf8');
  const code = withoutComments(text);
  const imports = toImports(code);
  const resolve = (from: string): string | null =>
    from.startsWith('.') ? toPath(normalize(join(dirname(absolute), from))) : toNamedPath(from);
  return {
    path: toPath(absolute),
    code,
    lines: text.split('\n').length - 1,
    local: imports.flatMap(({ from, kind }) => {
      const path = resolve(from);
      return path === null ? [] : [{ from: path, kind }];
    }),
    packages: imports.filter(({ from }) => resolve(from) === null),
  };
};

/** Every TypeScript file of the service and of its packages. */
export const readSourceFiles = (): readonly SourceFile[] =>
  globSync(['src/**/*.ts', 'packages/*/src/**/*.ts'], { cwd: ROOT })
    .map((path) => toSourceFile(join(ROOT, path)))
    .sort((one, other) => (one.path < other.path ? -1 : 1));
