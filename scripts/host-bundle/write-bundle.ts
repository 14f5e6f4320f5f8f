import { dirname, join, relative } from 'node:path';
import { rolldown } from 'rolldown';

export type BundleTarget = {
  /** The checkout. */
  readonly root: string;
  /** Where the bundle goes, from the root on. */
  readonly file: string;
  /** The modules it stands for: those of `src`, or what `tsc` makes of them in `dist`. */
  readonly standsFor: { readonly folder: string; readonly extension: '.ts' | '.js' };
};

/** Bundles what a tool host loads; gives the files it was made of, as paths within the checkout. */
export const writeBundle = async ({ root, file, standsFor }: BundleTarget): Promise<readonly string[]> => {
  // Modules look for each other beside themselves; in the bundle they are where they would be without it.
  const toUrl = (source: string): string => {
    const module = join(standsFor.folder, relative('src', source)).replace(/\.ts$/, standsFor.extension);
    return `new URL(${JSON.stringify(relative(dirname(file), module))}, import.meta.url).href`;
  };
  const plugin = {
    name: 'urls-of-modules',
    transform: (code: string, id: string): string | null => {
      const path = relative(root, id);
      return path.startsWith('src/') ? code.replaceAll('import.meta.url', toUrl(path)) : null;
    },
  };
  const bundle = await rolldown({
    cwd: root,
    input: ENTRY,
    platform: 'node',
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
