import { dirname, join, relative } from 'node:path';
import type { BundleName } from 'recourse-server/files/source-bundle';
import { type InputOptions, type OutputOptions, rolldown } from 'rolldown';

export type BundleTarget = {
  /** The checkout. */
  readonly root: string;
  readonly name: BundleName;
  /** Where the bundle goes, from the root on. */
  readonly file: string;
  /** The modules it stands for: `sources`, or what `tsc` makes of them. */
  readonly standsFor: 'sources' | 'built';
};

type Options = { readonly input: InputOptions; readonly output: OutputOptions };

/** Makes the bundle; gives the files it was made of, as paths within the checkout. */
export const writeBundle = async (target: BundleTarget): Promise<readonly string[]> => {
  const { root, file } = target;
  const options = OPTIONS[target.name](target);
  const bundle = await rolldown({ cwd: root, ...options.input });
  const { output } = await bundle.write({
    ...{ file: join(root, file), format: 'esm', codeSplitting: false },
    ...options.output,
  });
  await bundle.close();
  const modules = output.flatMap((part) => (part.type === 'chunk' ? part.moduleIds : []));
  return modules
    .filter((id) => id.startsWith(root))
    .map((id) => relative(root, id))
    .sort();
};

const PACKAGE_SOURCE = /^packages\/([a-z-]+)\/src\//;

/** Where a module lies that was built from this source. A package of the service is found by its name, wherever npm has put it. */
const toBuilt = (source: string): string =>
  source
    .replace(PACKAGE_SOURCE, 'node_modules/@recourse/$1/dist/')
    .replace(/^src\//, 'dist/')
    .replace(/\.ts$/, '.js');

const isOwn = (path: string): boolean => path.startsWith('src/') || PACKAGE_SOURCE.test(path);

const hostOptions = ({ root, file, standsFor }: BundleTarget): Options => {
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
  return {
    input: {
      input: 'scripts/bundles/host-entry.ts',
      platform: 'node',
      resolve: { conditionNames: ['@recourse/source', 'node', 'import'] },
      plugins: [plugin],
      transform: { define: { RECOURSE_URL: toUrl('src/recourse.ts') } },
    },
    // One character beyond Latin-1 would make V8 hold all of it with two bytes a character.
    output: { comments: false, charset: 'ascii' },
  };
};

const consoleOptions = (): Options => ({
  input: {
    input: 'packages/console/src/page/app.ts',
    platform: 'browser',
    // Without `development`, whose lit-html talks.
    resolve: { conditionNames: ['browser', 'import'] },
  },
  // The licence of lit-html goes with its code.
  output: { comments: { legal: true, annotation: false, jsdoc: false } },
});

const OPTIONS: Readonly<Record<BundleName, (target: BundleTarget) => Options>> = {
  host: hostOptions,
  console: consoleOptions,
};
