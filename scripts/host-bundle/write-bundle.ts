import { dirname, join, relative } from 'node:path';
import { rolldown } from 'rolldown';

export type BundleTarget = {
  /** The checkout. */
  readonly root: string;
  /** Where the bundle goes, from the root on. */
  readonly file: string;
  /** The modules it stands for: `sources`, or what `tsc` makes of them. */
  readonly standsFor: 'sources' | 'built';
};

const PACKAGE_SOURCE = /^packages\/([a-z-]+)\/src\//;

/** Where a module lies that was built from this source. A package of the service is found by its name, wherever npm has put it. */
const toBuilt = (source: string): string =>
  source
    .replace(PACKAGE_SOURCE, 'node_modules/@recourse/$1/dist/')
    .replace(/^src\//, 'dist/')
    .replace(/\.ts$/, '.js');

const isOwn = (path: string): boolean => path.startsWith('src/') || PACKAGE_SOURCE.test(path);

/** Bundles what a tool host loads; gives the files it was made of, as paths within the checkout. */
export const writeBundle = async ({ root, file, standsFor }: BundleTarget): Promise<readonly string[]> => {
  // Modules look for each other beside themselves; in the bundle they are where they would be without it.
  const toUrl = (source: string): string => {
    const module = standsFor === 'sources' ? source : toBuilt(source);
    return `new URL(${JSON.stringify(relative(dirname(file), module))}, import.meta.url).href`;
  };
  const plugin = {
    name: 'urls-of-modules',
    transform: (code: string, id: string): string | null => {
      const path = relative(root, id);
      return isOwn(path) ? code.replaceAll('import.meta.url', toUrl(path)) : null;
    },
  };
  const bundle = await rolldown({
    cwd: root,
    input: ENTRY,
    platform: 'node',
    resolve: { conditionNames: ['@recourse/source', 'node', 'import'] },
    plugins: [plugin],
    transform: { define: { RECOURSE_URL: toUrl('src/recourse.ts') } },
  });
  const { output } = await bundle.write({
    file: join(root, file),
    format: 'esm',
    codeSplitting: false,
    comments: false,
    // One character beyond Latin-1 would make V8 hold all of it with two bytes a character.
    charset: 'ascii',
  });
  await bundle.close();
  const modules = output.flatMap((part) => (part.type === 'chunk' ? part.moduleIds : []));
  return modules
    .filter((id) => id.startsWith(root))
    .map((id) => relative(root, id))
    .sort();
};

const ENTRY = 'scripts/host-bundle/entry.ts';
