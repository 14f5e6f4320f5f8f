import { readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  BUNDLES,
  type BundleName,
  bundleCache,
  describeInput,
  findFreshBundle,
  hashInputs,
  INPUTS,
} from 'recourse-server/files/source-bundle';
import type { BundleTarget } from './bundles/write-bundle.ts';

// Puts all that a tool host loads into one file, so that it starts in a third of the time and holds less memory, and all that the
// console's page runs into another, so that a browser asks for one script and not for forty.
// Usage: node scripts/bundle.ts           for this checkout's sources; nothing to do where all is up to date
//        node scripts/bundle.ts dist      as part of a build

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const BUILT: Readonly<Record<BundleName, string>> = { host: 'dist/host', console: 'packages/console/dist/page' };
const NAMES: readonly BundleName[] = ['host', 'console'];
const WEEK_MS = 604_800_000;

// Loaded only where there is something to bundle: each `npm start` comes here.
const writeBundle = async (target: BundleTarget): Promise<readonly string[]> =>
  (await import('./bundles/write-bundle.ts')).writeBundle(target);

/** The folder's name is what it was made of, so that a process that starts meanwhile finds its files. */
const bundleSources = async (name: BundleName): Promise<void> => {
  const cache = bundleCache(ROOT, name);
  const draft = `draft-${process.pid}`;
  const file = join(relative(ROOT, cache), draft, BUNDLES[name]);
  const paths = await writeBundle({ root: ROOT, name, file, standsFor: 'sources' });
  const inputs = paths.map((path) => `${describeInput(ROOT, path)}\n`).join('');
  const id = hashInputs(inputs);
  // Younger ones may be those of a service that runs, which starts further hosts from it.
  for (const entry of readdirSync(cache))
    if (Date.now() - statSync(join(cache, entry)).mtimeMs > WEEK_MS)
      rmSync(join(cache, entry), { recursive: true, force: true });
  rmSync(join(cache, id), { recursive: true, force: true });
  renameSync(join(cache, draft), join(cache, id));
  // Last, and at once: from now on it is found.
  writeFileSync(join(cache, `${id}.txt`), inputs);
  renameSync(join(cache, `${id}.txt`), join(cache, INPUTS));
};

const isBuild = process.argv[2] === 'dist';
for (const name of NAMES) {
  if (isBuild) await writeBundle({ root: ROOT, name, file: join(BUILT[name], BUNDLES[name]), standsFor: 'built' });
  else if (findFreshBundle(ROOT, name) === null) await bundleSources(name);
}
