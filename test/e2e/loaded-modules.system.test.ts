import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT, startProcess } from '@recourse/test-support/start-process.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { OWN_EXTENSIONS } from '#src/packages.ts';

// Files that a default start loads, of packages too: each is found, read and linked. The same on every machine. A change that needs
// more raises it and says what that buys. 16 for writes that are looked for: the package decide, effect ids and verdicts. 41 for rules and
// approvals, which a changed configuration file or a tool asks for while the service runs, dry runs and the doors' words for them. 34 for what people on call
// read: the package oncall.
const MOST_FILES = 800;

const SLOW_MS = timeLimit(60_000);

const Modules = z.object({ files: z.array(z.string()), builtin: z.array(z.string()) });

const makeDirectory = (): string => {
  const directory = mkdtempSync(join(tmpdir(), 'recourse-modules-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return directory;
};

/** Starts a service that is asked for nothing, ends it, and gives what it had loaded. */
const recordStart = async (directory: string, settings: Readonly<Record<string, string>> = {}) => {
  const recorded = join(directory, 'modules.json');
  const recorder = pathToFileURL(join(ROOT, 'test/support/record-modules.ts')).href;
  const service = await startProcess({
    by: 'node',
    environment: {
      NODE_OPTIONS: `--import=${recorder}`,
      RECORDED_MODULES: recorded,
      ...settings,
    },
  });
  service.send('SIGTERM', 'service');
  await service.exited;
  const { files, builtin } = Modules.parse(JSON.parse(readFileSync(recorded, 'utf8')));
  const sources = pathToFileURL(join(ROOT, 'src/')).href;
  return {
    files: new Set(files).size,
    packages: new Set(files.flatMap((url) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1] ?? [])),
    sources: files.filter((url) => url.startsWith(sources)).map((url) => url.slice(sources.length)),
    units: new Map(
      Object.entries(
        Object.groupBy(
          files.flatMap((url) => /\/packages\/([a-z-]+\/)src\/(.+)$/.exec(url)?.slice(1).join('') ?? []),
          (path) => path.split('/')[0] ?? '',
        ),
      ),
    ),
    builtin,
  };
};

const { dependencies } = z
  .object({ dependencies: z.record(z.string(), z.string()) })
  .parse(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')));

test('a start with default settings loads the packages that every call needs, and no other of its dependencies', {
  timeout: SLOW_MS,
}, async () => {
  const directory = makeDirectory();
  // The first one strips the types of all sources, and keeps what it compiled.
  const cache = { NODE_COMPILE_CACHE: join(directory, 'compiled') };
  await recordStart(directory, cache);
  const { files, packages, sources, builtin, units } = await recordStart(directory, cache);
  expect(files, 'files that a start loads; where they are needed, raise MOST_FILES').toBeLessThanOrEqual(MOST_FILES);
  expect(Object.keys(dependencies).filter((name) => packages.has(name))).toEqual([
    '@opentelemetry/api',
    'canonicalize',
    'fastest-levenshtein',
    'fastify',
    'ipaddr.js',
    'lru-cache',
    'pino',
    'prom-client',
    'zod',
  ]);
  // Which Fastify brings, and loads unless told otherwise.
  expect(
    ['ajv', '@fastify/ajv-compiler', '@fastify/fast-json-stringify-compiler'].filter((n) => packages.has(n)),
  ).toEqual([]);
  expect(sources.length).toBeGreaterThan(200);
  // `redis-url.ts` reads a setting, and loads nothing.
  const withheld = /-schemas\.ts$|redis(?!-url)/;
  expect(sources.filter((path) => withheld.test(path))).toEqual([]);
  // Of an extension that no group asks for, its declaration alone.
  const optional = OWN_EXTENSIONS.all.filter(({ groups }) => Object.keys(groups).length > 0);
  expect(optional.length).toBeGreaterThan(3);
  for (const name of ['upstream-mcp', 'upstream-openapi']) expect(units.get(name)).toEqual([`${name}/${name}.ts`]);
  for (const { name } of optional) expect(units.get(`toolkit-${name}`)).toEqual([`toolkit-${name}/toolkit-${name}.ts`]);
  // Of the audit log, how a verdict is told alone.
  expect(units.get('decide')?.filter((path) => path.includes('/audit/'))).toEqual(['decide/audit/read-end.ts']);
  // Node's HTTP client and its compiler of TypeScript, of several megabytes each.
  expect(builtin.filter((name) => /internal\/deps\/(undici|amaro)\//.test(name))).toEqual([]);
});

test('a package that settings do not ask for is not loaded', { timeout: SLOW_MS }, async () => {
  const byDefault = await recordStart(makeDirectory());
  expect(byDefault.units.get('console')?.length).toBeGreaterThan(1);
  expect(byDefault.units.get('mcp-server')?.length).toBeGreaterThan(1);
  for (const name of ['tool-hosts', 'tracing']) expect([name, byDefault.units.has(name)]).toEqual([name, false]);
  const without = await recordStart(makeDirectory(), { CONSOLE: 'false', MCP_SERVER: 'false' });
  for (const name of ['console', 'mcp-server']) expect(without.units.get(name)).toEqual([`${name}/${name}.ts`]);
});

test('what settings ask for is loaded before the service listens', { timeout: SLOW_MS }, async () => {
  const { packages } = await recordStart(makeDirectory(), {
    RATE_LIMIT: '10/s',
    JWT_JWKS_URL: 'http://127.0.0.1:9/keys',
    JWT_AUDIENCE: 'recourse',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9',
  });
  expect(['jose', 'rate-limiter-flexible', '@opentelemetry/sdk-trace'].filter((name) => !packages.has(name))).toEqual(
    [],
  );
});
