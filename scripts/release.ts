import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import * as z from 'zod';
import { nextVersion } from './release/next-version.ts';
import { toReleasedChangelog } from './release/to-released-changelog.ts';
import { writeVersion } from './release/write-version.ts';

// Makes a release up to the point where others can see it: version, changelog, documents, packages, commit and tag. It then
// prints the commands that publish, and runs none of them.
const USAGE = `Usage: npm run release -- <major|minor|patch|VERSION> [--dry-run] [--no-packages]
  --dry-run      check, and say what would be done; changes nothing
  --no-packages  leave the packages out: version, changelog, commit and tag only`;

const ROOT = resolve(import.meta.dirname, '..');

/** Runs a command at the root; what it wrote to stdout. Throws with what it wrote where it fails. */
const run = (command: string, ...words: readonly string[]): string => {
  const { error, status, stdout, stderr } = spawnSync(command, words, { cwd: ROOT, encoding: 'utf8' });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`${command} ${words.join(' ')} ended with ${status}:\n${stdout}${stderr}`);
  return stdout;
};

const Manifest = z.looseObject({ version: z.string() });
// Records, not objects: those would bring the members they name to the front, and every line of the file would change.
const Members = z.record(z.string(), z.unknown());
const LockedPackages = z.record(z.string(), Members);

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const readVersion = (): string => Manifest.parse(JSON.parse(read('package.json'))).version;

// What `files` of package.json names, but for what the build makes anew.
const PACKED_AS_THEY_ARE = ['examples/workspace'] as const;

const checkTree = (): void => {
  const changes = run('git', 'status', '--porcelain');
  if (changes !== '') throw new Error(`The working tree has changes; commit them or take them back:\n${changes}`);
  // npm packs what lies there, also what git ignores: a key that somebody tried the service with would be published.
  const further = run('git', 'status', '--porcelain', '--ignored', '--', ...PACKED_AS_THEY_ARE);
  if (further !== '') throw new Error(`These files would be packed, and git ignores them; remove them:\n${further}`);
  run('node', '-C', '@recourse/source', 'scripts/generate.ts', '--check');
};

const checkTag = (tag: string): void => {
  if (run('git', 'tag', '--list', tag) !== '') throw new Error(`The tag ${tag} is there already.`);
};

const writeLock = (version: string): void => {
  const lock = Members.parse(JSON.parse(read('package-lock.json')));
  const packages = Object.fromEntries(
    Object.entries(LockedPackages.parse(lock['packages'])).map(([path, entry]) =>
      // The packages that are never published have none.
      path.includes('node_modules/') || entry['version'] === undefined ? [path, entry] : [path, { ...entry, version }],
    ),
  );
  writeFileSync(join(ROOT, 'package-lock.json'), `${JSON.stringify({ ...lock, version, packages }, null, 2)}\n`);
};

const hashOf = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex');

/** Both npm packages and the bill of materials in one folder, with their SHA-256. */
const pack = (version: string): void => {
  const folder = join(ROOT, 'release', version);
  mkdirSync(folder, { recursive: true });
  run('npm', 'pack', '--pack-destination', folder);
  run('npm', 'pack', './clients/typescript', '--pack-destination', folder);
  copyFileSync(join(ROOT, 'dist/sbom.cdx.json'), join(folder, `recourse-server-${version}.cdx.json`));
  const files = globSync('*.{tgz,cdx.json}', { cwd: folder }).sort();
  const sums = files.map((file) => `${hashOf(join(folder, file))}  ${file}\n`).join('');
  writeFileSync(join(folder, 'SHA256SUMS'), sums);
  process.stdout.write(`\nPacked in ${relative(ROOT, folder)}:\n${sums.replace(/^/gm, '  ').trimEnd()}\n`);
};

const toImageTags = (version: string): readonly string[] => {
  const [major = '', minor = ''] = version.split('.');
  // Below 1.0.0 a new minor version may break what the one before promised, so none is called by its major one.
  return [version, `${major}.${minor}`, ...(major === '0' ? [] : [major])].map((tag) => `recourse:${tag}`);
};

const sayHowToPublish = (version: string): void => {
  const commands = [
    'git push --follow-tags',
    ...['recourse-server', 'recourse-client'].map(
      (name) => `npm publish release/${version}/${name}-${version}.tgz --access public`,
    ),
    `docker build --build-arg VERSION=${version} --build-arg REVISION=$(git rev-parse v${version}) ${toImageTags(
      version,
    )
      .map((tag) => `-t ${tag}`)
      .join(' ')} .`,
    ...toImageTags(version).map((tag) => `docker push ${tag}`),
  ];
  console.log(`\nNothing is published. To publish ${version}:\n${commands.map((each) => `  ${each}`).join('\n')}`);
};

const release = (word: string, packages: 'pack' | 'leave_out', mode: 'dry_run' | 'real'): void => {
  const before = readVersion();
  const version = nextVersion(before, word);
  checkTag(`v${version}`);
  const changelog = toReleasedChangelog(read('CHANGELOG.md'), version, new Date().toISOString().slice(0, 10));
  checkTree();
  console.log(`${before} -> ${version}: the tree is clean, and the generated documents are up to date`);
  if (mode === 'dry_run') {
    console.log(
      `Would write the version, close the changelog, ${packages === 'pack' ? 'pack, ' : ''}commit and tag v${version}.`,
    );
    sayHowToPublish(version);
    return;
  }
  const paths = writeVersion(ROOT, before, version);
  writeLock(version);
  writeFileSync(join(ROOT, 'CHANGELOG.md'), changelog);
  run('node', '-C', '@recourse/source', 'scripts/generate.ts');
  console.log(`wrote ${paths.join(', ')}, package-lock.json, CHANGELOG.md and the generated documents`);
  if (packages === 'pack') pack(version);
  run('git', 'commit', '--all', '--message', `Release ${version}`);
  run('git', 'tag', '--annotate', `v${version}`, '--message', `Recourse ${version}`);
  console.log(`committed and tagged v${version}`);
  sayHowToPublish(version);
};

const main = (): void => {
  const { values, positionals } = parseArgs({
    options: { 'dry-run': { type: 'boolean' }, packages: { type: 'boolean' }, help: { type: 'boolean' } },
    allowPositionals: true,
    allowNegative: true,
  });
  const [word, ...others] = positionals;
  if (word === undefined || others.length > 0 || values.help === true) throw new Error(USAGE);
  if (!existsSync(join(ROOT, '.git'))) throw new Error('A release is made from a clone of the repository.');
  release(word, values.packages === false ? 'leave_out' : 'pack', values['dry-run'] === true ? 'dry_run' : 'real');
};

try {
  main();
} catch (error) {
  console.error(`release: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
