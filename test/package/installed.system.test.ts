import {
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type EndedProcess, ROOT, runToEnd, startProcess } from '@recourse/test-support/start-process.ts';
import { callService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { type InstalledPackage, installPackage } from './install-package.ts';
import { PROGRAM, TOOL, TYPED, VITEST } from './installed-files.ts';

// It builds, packs and installs first, all compilers and services after it on two cores.
const PATIENCE = { timeout: timeLimit(120_000) };

let installed: InstalledPackage;
beforeAll(async () => {
  installed = await installPackage();
}, timeLimit(240_000));
afterAll(() => rmSync(dirname(installed.directory), { recursive: true, force: true }));

const pathOf = (...parts: readonly string[]): string => join(installed.directory, ...parts);
const inPackage = (...parts: readonly string[]): string => pathOf('node_modules/recourse-server', ...parts);

const Manifest = z.looseObject({
  exports: z.record(
    z.string(),
    z.union([z.string(), z.looseObject({ types: z.string().optional(), default: z.string().optional() })]),
  ),
  bin: z.object({ recourse: z.string(), 'recourse-server': z.string() }),
  scripts: z.record(z.string(), z.string()),
  private: z.undefined().optional(),
  optionalDependencies: z.undefined().optional(),
});

test('the package is small, and holds what it promises and no more', () => {
  expect(statSync(installed.tarball).size).toBeLessThan(1_500_000);
  expect(readdirSync(inPackage()).sort()).toEqual([
    ...['LICENSE', 'README.md', 'dist', 'examples', 'node_modules', 'package.json'],
  ]);
  // Its own packages, built, and nothing else of others: the service is in the project once.
  expect(globSync('node_modules/*/*', { cwd: inPackage() }).sort()).toEqual(
    readdirSync(join(ROOT, 'packages')).map((name) => `node_modules/@recourse/${name}`),
  );
  expect(new Set(globSync('node_modules/@recourse/*/*', { cwd: inPackage() }).map((path) => basename(path)))).toEqual(
    new Set(['dist', 'package.json', 'README.md']),
  );
  expect(globSync('**/recourse-server/package.json', { cwd: pathOf('node_modules') })).toEqual([
    'recourse-server/package.json',
  ]);
  expect(globSync('examples/**/*', { cwd: inPackage() }).sort()).toEqual([
    'examples/workspace',
    'examples/workspace/minutes',
    'examples/workspace/minutes/2026-09-12.md',
    'examples/workspace/minutes/2026-10-06.md',
    'examples/workspace/notes.md',
    'examples/workspace/readings.csv',
    'examples/workspace/todo.txt',
  ]);
  const files = globSync(['dist/**/*.*', 'node_modules/@recourse/*/dist/**/*.*'], { cwd: inPackage() });
  expect(files.filter((path) => !/\.(js|css|html|lua|d\.ts)$/.test(path)).sort()).toEqual([
    'dist/host/inside/host-main.mjs',
    'dist/http/openapi.json',
    'dist/sbom.cdx.json',
  ]);
  // Of the 700 modules, declarations of those alone that a user can name a type of; and they name files that are there.
  const declarations = files.filter((path) => path.endsWith('.d.ts'));
  expect(declarations.length).toBeLessThan(60);
  const texts = declarations.map((path) => readFileSync(inPackage(path), 'utf8'));
  expect(texts.filter((text) => /from\s+["']\.[^"']*(?<!\.js)["']/.test(text))).toEqual([]);
  const manifest = Manifest.parse(JSON.parse(readFileSync(inPackage('package.json'), 'utf8')));
  const named = Object.values(manifest.exports).flatMap((entry) =>
    typeof entry === 'string' ? [entry] : [entry.types ?? [], entry.default ?? []].flat(),
  );
  // A pattern leads to many.
  const paths = [...named, ...Object.values(manifest.bin)].filter((path) => !path.includes('*'));
  expect(paths.length).toBeGreaterThan(6);
  expect(paths.filter((path) => !existsSync(inPackage(path)))).toEqual([]);
  // What npm would run where the package is installed.
  expect(Object.keys(manifest.scripts).filter((name) => /install|^prepare$/.test(name))).toEqual([]);
});

const Lock = z.object({ packages: z.record(z.string(), z.unknown()) });
const Bom = z.object({ components: z.array(z.object({ name: z.string() })) });

test('it brings its dependencies, which its bill of materials names, and no client of a vendor', () => {
  // npm's own list of what it has installed.
  const list = Lock.parse(JSON.parse(readFileSync(pathOf('node_modules/.package-lock.json'), 'utf8')));
  const own = Object.keys(list.packages).map((path) => path.replace(/^.*node_modules\//, ''));
  expect(own).toEqual(expect.arrayContaining(['fastify', 'zod', '@modelcontextprotocol/client', '@opentelemetry/api']));
  const vendors =
    /^(@googleapis|@slack|google-|gaxios|gcp-metadata|node-linux|@recourse|typescript|@opentelemetry\/(?!api$))/;
  expect(own.filter((name) => vendors.test(name))).toEqual([]);
  const { components } = Bom.parse(JSON.parse(readFileSync(inPackage('dist/sbom.cdx.json'), 'utf8')));
  expect(new Set(components.map(({ name }) => name))).toEqual(
    new Set(own.filter((name) => name !== 'recourse-server')),
  );
});

test('npx recourse-server serves, with tools that import the package from wherever they lie', PATIENCE, async () => {
  // Beside the package, as in a project; one with a package of that name of its own; and none that Node would find.
  const tools = pathOf('../elsewhere/tools');
  mkdirSync(join(tools, 'own/node_modules'), { recursive: true });
  symlinkSync(inPackage(), join(tools, 'own/node_modules/recourse-server'));
  symlinkSync(pathOf('node_modules/zod'), join(tools, 'own/node_modules/zod'));
  writeFileSync(join(tools, 'none.ts'), TOOL('none', 'recourse-server'));
  writeFileSync(join(tools, 'own/own.ts'), TOOL('own', 'zod'));
  const { url, send, exited } = await startProcess({
    by: 'npx',
    cwd: installed.directory,
    // Without the right to read all files.
    environment: { TOOLS_DIR: tools, TOOLS_PERMISSIONS: 'net', NODE_COMPILE_CACHE: '' },
  });
  const results = await callService(url, [
    { name: 'read_file', arguments: { path: 'notes.md' } },
    ...['none', 'own'].flatMap((name) => [
      { name, arguments: { sides: 6 } },
      { name, arguments: { sides: 6, loaded: true } },
      { name, arguments: { sides: 101 } },
      { name: `${name}_described`, arguments: { mail: 'a@example.org' } },
      { name: `${name}_described`, arguments: { mail: 'nobody' } },
    ]),
  ]);
  const ofOne = ['success', 'invalid_arguments', 'retry_requested', 'success', 'invalid_arguments'];
  expect(results.map(({ outcome, error }) => error?.code ?? outcome)).toEqual(['success', ...ofOne, ...ofOne]);
  const statuses = await Promise.all(
    ['/console', '/console/app.js', '/console/style.css', '/docs', '/openapi.json'].map(
      async (path) => (await fetch(`${url}${path}`)).status,
    ),
  );
  expect(statuses).toEqual([200, 200, 200, 200, 200]);
  // What the service compiled is there for its next start.
  expect(existsSync(pathOf('node_modules/.cache/recourse/compiled'))).toBe(true);
  send('SIGTERM', 'group');
  await exited;
});

// The oldest Node that it runs on, and the pinned one.
const NODES = {
  24: join(ROOT, 'node_modules/.cache/recourse/node24/node_modules/.bin'),
  26: join(ROOT, 'node_modules/.bin'),
};

test.each([24, 26] as const)(
  'with Node %s a new tools directory is made, checked, tested, served and called',
  PATIENCE,
  async (major) => {
    const run = (...command: readonly [string, ...string[]]) => installed.runWith(NODES[major], ...command);
    const tools = `tools-${major}`;
    expect(await run('node', '--version')).toMatch(new RegExp(`^v${major}\\.`));
    expect(await run('npx', '--no', 'recourse-server', 'init', tools)).toContain(`npx recourse-server check ${tools}`);
    expect(await run('npx', '--no', 'recourse', 'check', tools)).toMatch(
      /^2 files share .*\n2 tools: add_note, roll_dice; no problems\n$/,
    );
    expect(await run('npm', 'test', '--prefix', tools)).toContain('pass 3');
    // From then on a tool file of the time when the package was called after the program.
    const file = pathOf(tools, 'roll-dice.ts');
    writeFileSync(file, readFileSync(file, 'utf8').replace("from 'recourse-server'", "from 'recourse'"));
    const { url, send, exited } = await startProcess({
      by: 'npx',
      cwd: installed.directory,
      environment: { PATH: `${NODES[major]}:${process.env['PATH']}`, TOOLS_DIR: tools },
    });
    const [rolled] = await callService(url, [{ name: 'roll_dice', arguments: { count: 2, sides: 6 } }]);
    expect(rolled).toMatchObject({ outcome: 'success', value: { rolls: [expect.any(Number), expect.any(Number)] } });
    expect(await (await fetch(`${url}/metrics`)).text()).toContain(`node="v${major}.`);
    send('SIGTERM', 'group');
    await exited;
  },
);

test('an older Node is told what to install', PATIENCE, async () => {
  const older = 'Object.defineProperty(process, "versions", { value: { node: "20.20.2" } })';
  const refused = installed.run('node', '--import', `data:text/javascript,${older}`, inPackage('dist/bin.js'));
  await expect(refused).rejects.toThrow(
    `\nrecourse: needs Node.js 24 or newer, and this is v20.20.2. Install one from https://nodejs.org, or one for this project: npm install node-linux-${process.arch}@24\n`,
  );
});

test('a setting that needs a package which is not installed says how to install it', PATIENCE, async () => {
  const settings = { TOOL_GROUPS: 'notes,mail,slack', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' };
  const one = runToEnd({ by: 'npx', cwd: installed.directory, environment: { TOOL_GROUPS: 'slack' } });
  const all = runToEnd({ by: 'npx', cwd: installed.directory, environment: settings });
  // npm may have a word of its own on the settings of the machine.
  const toLine = ({ stderr }: EndedProcess): string =>
    stderr
      .split('\n')
      .filter((line) => line.startsWith('recourse: '))
      .join('\n');
  expect(toLine(await one)).toBe(
    'recourse: TOOL_GROUPS (slack) needs a package that is not installed: run npm install @slack/web-api@8',
  );
  expect(toLine(await all)).toBe(
    'recourse: TOOL_GROUPS (mail, slack) and OTEL_EXPORTER_OTLP_ENDPOINT need packages that are not installed: run npm install ' +
      '@googleapis/gmail@22 google-auth-library@11 @slack/web-api@8 @opentelemetry/exporter-trace-otlp-proto@0.301 ' +
      '@opentelemetry/resources@3 @opentelemetry/sdk-trace@3',
  );
  expect((await all).code).toBe(1);
});

const COMPILERS = {
  '5.9': join(ROOT, 'clients/typescript/node_modules/typescript/bin/tsc'),
  '7': join(ROOT, 'node_modules/typescript/bin/tsc'),
} as const;

test.each([
  ['5.9', 'nodenext', 'nodenext', []],
  // The libraries' own declarations are the same as above, and take ten seconds.
  ['5.9', 'esnext', 'bundler', ['--skipLibCheck']],
  ['7', 'nodenext', 'nodenext', []],
  ['7', 'esnext', 'bundler', []],
] as const)('TypeScript %s checks a tool file in %s with resolution by %s', PATIENCE, async (...row) => {
  const [version, module, resolution, further] = row;
  expect(await installed.run('node', COMPILERS[version], '--version')).toMatch(new RegExp(`^Version ${version}`));
  writeFileSync(pathOf('typed.ts'), TYPED);
  const words = ['--noEmit', '--strict', '--target', 'es2022', '--module', module, '--moduleResolution', resolution];
  expect(await installed.run('node', COMPILERS[version], ...words, ...further, 'typed.ts')).toBe('');
});

test('Node and vitest import a tool file', PATIENCE, async () => {
  writeFileSync(pathOf('dice.ts'), TOOL('dice', 'recourse-server'));
  writeFileSync(pathOf('program.ts'), PROGRAM);
  writeFileSync(pathOf('dice.test.ts'), VITEST);
  expect(JSON.parse(await installed.run('node', 'program.ts'))).toEqual([
    [
      ...[
        'RetryableToolError',
        'TerminalToolError',
        'UpstreamToolError',
        'audio',
        'defineReducer',
        'defineTool',
        'didNotHappen',
        'empty',
        'file',
        'happened',
        'image',
        'ok',
        'unclear',
        'z',
      ],
    ],
    'dice',
    ['sides'],
    { rolled: 6 },
    'invalid_arguments',
  ]);
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
  expect(
    await installed.run('node', vitest, 'run', '--root', '.', '--exclude', 'tools-*/**', '--globals', '--no-color'),
  ).toContain('1 passed');
});
