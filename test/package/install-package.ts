import { execFile } from 'node:child_process';
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { cleanEnvironment, ROOT } from '@recourse/test-support/start-process.ts';
import * as z from 'zod';

/** The package as a user has it. */
export type InstalledPackage = {
  /** A project whose one dependency it is. */
  readonly directory: string;
  readonly tarball: string;
  /** Runs a command in the project; its stdout. Rejects with what it wrote where it fails. */
  readonly run: (command: string, ...words: readonly string[]) => Promise<string>;
  /** The same where the `node` of this directory is the only one that is known. */
  readonly runWith: (node: string, command: string, ...words: readonly string[]) => Promise<string>;
};

// What `npm pack` reads, to pack from a copy: nothing is built in the tree that other tests read.
const PACKED = [
  ...['package.json', 'package-lock.json', '.npmrc', 'LICENSE', 'README.md', 'tsconfig.json', 'tsconfig.build.json'],
  ...['checkout/package.json', 'clients/typescript/package.json', 'examples/workspace'],
  ...['scripts', 'src', 'packages', 'test/support/package.json'],
];

/** The dependencies of this repository, and as its own packages those of the copy, linked as npm links them. */
const linkModules = (copy: string): void => {
  const modules = join(copy, 'node_modules');
  mkdirSync(join(modules, '@recourse'), { recursive: true });
  const own = ['@recourse', 'recourse-server', '.cache'];
  for (const name of readdirSync(join(ROOT, 'node_modules')).filter((each) => !own.includes(each)))
    symlinkSync(join(ROOT, 'node_modules', name), join(modules, name));
  symlinkSync('..', join(modules, 'recourse-server'));
  for (const name of readdirSync(join(copy, 'packages')))
    symlinkSync(join('../../packages', name), join(modules, '@recourse', name));
};

const Ended = z.looseObject({ stdout: z.string(), stderr: z.string() });

// Where npm finds its settings, and by which certificates it trusts a registry: behind a proxy nothing is installed without.
const NETWORK = /^(npm_config_(global|user)config|node_extra_ca_certs|(https?|no)_proxy)$/i;

const toNetwork = (): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      value !== undefined && NETWORK.test(name) ? [[name, value]] : [],
    ),
  );

const runIn = async (
  directory: string,
  [command = '', ...words]: readonly string[],
  node = join(ROOT, 'node_modules/.bin'),
): Promise<string> => {
  const PATH = [node, join(directory, 'node_modules/.bin'), cleanEnvironment({})['PATH']].join(delimiter);
  const npm = { npm_config_audit: 'false', npm_config_fund: 'false', npm_config_prefer_offline: 'true' };
  const options = {
    cwd: directory,
    env: cleanEnvironment({ ...toNetwork(), ...npm, PATH }),
    maxBuffer: 16 * 1024 * 1024,
  };
  const ended = await promisify(execFile)(command, words, options).catch((error: unknown) => {
    const { stdout, stderr } = Ended.parse(error);
    throw new Error(`${command} ${words.join(' ')}:\n${stdout}${stderr}`, { cause: error });
  });
  return ended.stdout;
};

const Lock = z.looseObject({
  packages: z.record(
    z.string(),
    z.looseObject({
      dev: z.boolean().default(false),
      link: z.boolean().default(false),
      optional: z.boolean().default(false),
    }),
  ),
});

/** The versions of this repository's lock file, so that a release of somebody else breaks no test of ours. */
const toLock = (): string => {
  const lock = Lock.parse(JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')));
  const packages = Object.entries(lock.packages).filter(
    ([path, { dev, link, optional }]) => path.startsWith('node_modules/') && !(dev || link || optional),
  );
  return JSON.stringify({ ...lock, packages: { '': {}, ...Object.fromEntries(packages) } });
};

/** Packs as `npm publish` would and installs the file in an empty project. Takes half a minute. */
export const installPackage = async (): Promise<InstalledPackage> => {
  const directory = mkdtempSync(join(tmpdir(), 'recourse-package-'));
  const copy = join(directory, 'copy');
  const project = join(directory, 'project');
  for (const path of PACKED) cpSync(join(ROOT, path), join(copy, path), { recursive: true });
  linkModules(copy);
  await runIn(copy, ['npm', 'pack', '--pack-destination', directory]);
  const [tarball = 'none'] = globSync('*.tgz', { cwd: directory });
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }');
  writeFileSync(join(project, 'package-lock.json'), toLock());
  await runIn(project, ['npm', 'install', join(directory, tarball)]);
  return {
    directory: project,
    tarball: join(directory, tarball),
    run: (...command) => runIn(project, command),
    runWith: (node, ...command) => runIn(project, command, node),
  };
};
