import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

type Place = {
  readonly path: string;
  /** The text that names a version there. */
  readonly toText: (version: string) => string;
  readonly presence?: 'optional';
};

const inManifest = (version: string): string => `"version": "${version}"`;

/** Where the version of a release stands; documents that `npm run generate` writes take it from package.json. */
const PLACES: readonly Place[] = [
  { path: 'package.json', toText: inManifest },
  { path: 'checkout/package.json', toText: inManifest },
  { path: 'clients/typescript/package.json', toText: inManifest },
  { path: 'clients/typescript/README.md', toText: (version) => `recourse-client-${version}.tgz` },
  { path: 'clients/python/pyproject.toml', toText: (version) => `\nversion = "${version}"`, presence: 'optional' },
  { path: 'clients/python/README.md', toText: (version) => `recourse_client-${version}-`, presence: 'optional' },
  { path: 'README.md', toText: (version) => `recourse-server-${version}.tgz` },
  { path: 'docs/deployment.md', toText: (version) => `recourse-server-${version}.tgz` },
  { path: 'docs/deployment.md', toText: (version) => `recourse:${version}` },
  { path: 'Dockerfile', toText: (version) => `ARG VERSION=${version}` },
  { path: 'deploy/kubernetes/deployment.yaml', toText: (version) => `image: recourse:${version}` },
  { path: 'deploy/kubernetes/kustomization.yaml', toText: (version) => `newTag: ${version}` },
  { path: 'deploy/kubernetes/workers/deployment.yaml', toText: (version) => `image: recourse:${version}` },
  { path: 'deploy/kubernetes/workers/kustomization.yaml', toText: (version) => `newTag: ${version}` },
];

/** Writes the version into every file that names it, but for the lock file; the paths. Throws where one does not name the version before. */
export const writeVersion = (root: string, before: string, version: string): readonly string[] => {
  const places = PLACES.filter(({ path, presence }) => presence !== 'optional' || existsSync(join(root, path)));
  const texts = new Map<string, string>();
  for (const { path, toText } of places) {
    const text = texts.get(path) ?? readFileSync(join(root, path), 'utf8');
    if (!text.includes(toText(before))) throw new Error(`${path} does not name the version ${before}.`);
    texts.set(path, text.replaceAll(toText(before), toText(version)));
  }
  for (const [path, text] of texts) writeFileSync(join(root, path), text);
  return [...texts.keys()];
};
