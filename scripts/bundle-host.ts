import { readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describeInput, findFreshBundle, HOST_CACHE, hashInputs, INPUTS } from '@recourse/tool-hosts/host-entry';
import type { BundleTarget } from './host-bundle/write-bundle.ts';

// Puts all that a tool host loads into one file: it starts in a third of the time and holds less memory.
// Usage: node scripts/bundle-host.ts           for hosts of this checkout's sources; nothing to do where it is up to date
//        node scripts/bundle-host.ts dist      as part of a build

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const IN_BUNDLE = 'inside/host-main.mjs';
const WEEK_MS = 604_800_000;

// Loaded only where there is something to bundle: each `npm start` comes here.
const writeBundle = async (target: BundleTarget): Promise<readonly string[]> =>
  (await import('./host-bundle/write-bundle.ts')).writeBundle(target);

/** The folder's name is what it was made of, so that a host that starts meanwhile finds its files. */
const bundleForSources = async (): Promise<void> => {
  const cache = join(ROOT, HOST_CACHE);
  const draft = `draft-${process.pid}`;
  const paths = await writeBundle({
    root: ROOT,
    file: join(HOST_CACHE, draft, IN_BUNDLE),
    standsFor: 'sources',
  });
  const inputs = paths.map((path) => `${describeInput(ROOT, path)}\n`).join('');
  const id = hashInputs(inputs);
  // Younger ones may be those of a service that runs, which starts further hosts from it.
  for (const name of readdirSync(cache))
    if (Date.now() - statSync(join(cache, name)).mtimeMs > WEEK_MS)
      rmSync(join(cache, name), { recursive: true, force: true });
  rmSync(join(cache, id), { recursive: true, force: true });
  renameSync(join(cache, draft), join(cache, id));
  // Last, and at once: from now on hosts find it.
  writeFileSync(join(cache, `${id}.txt`), inputs);
  renameSync(join(cache, `${id}.txt`), join(cache, INPUTS));
};

const bundleForBuild = (folder: string): Promise<unknown> =>
  writeBundle({
    root: ROOT,
    file: join(folder, 'host', IN_BUNDLE),
    standsFor: 'built',
  });

const [target] = process.argv.slice(2);
if (target !== undefined) await bundleForBuild(target);
else if (findFreshBundle(ROOT) === null) await bundleForSources();
