import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';

export type Import = { readonly from: string; readonly kind: 'type' | 'value' };
export type SourceFile = {
  /** Relative to src, e.g. `executor/run-call.ts`. */
  readonly path: string;
  /** Its text without comments. */
  readonly code: string;
  readonly lines: number;
  /** Files of src, relative to it. */
  readonly local: readonly Import[];
  /** Packages and node: modules. */
  readonly packages: readonly Import[];
};

const SRC = join(import.meta.dirname, '../../src');
const IMPORT = /^(import|export)\s+(type\s+)?[^;'"]*?from\s+'([^']+)'|^import\s+'([^']+)'|\bimport\('([^']+)'\)/gm;

const withoutComments = (text: string): string =>
  text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '$1');

const toImports = (code: string): readonly Import[] =>
  [...code.matchAll(IMPORT)].map(([, , type, from, bare, dynamic]) => ({
    from: from ?? bare ?? dynamic ?? '',
    kind: type === undefined ? 'value' : 'type',
  }));

const toSourceFile = (absolute: string): SourceFile => {
  const text = readFileSync(absolute, 'utf8');
  const code = withoutComments(text);
  const imports = toImports(code);
  const resolve = (from: string): string => relative(SRC, normalize(join(dirname(absolute), from)));
  return {
    path: relative(SRC, absolute),
    code,
    lines: text.split('\n').length - 1,
    local: imports.filter(({ from }) => from.startsWith('.')).map(({ from, kind }) => ({ from: resolve(from), kind })),
    packages: imports.filter(({ from }) => !from.startsWith('.')),
  };
};

/** Every TypeScript file under src. */
export const readSourceFiles = (): readonly SourceFile[] =>
  globSync('**/*.ts', { cwd: SRC })
    .sort()
    .map((path) => toSourceFile(join(SRC, path)));
