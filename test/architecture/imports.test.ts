import { expect, test } from 'vitest';
import { readSourceFiles, type SourceFile } from './source-files.ts';

const FILES = readSourceFiles();

// The program stands above the commands, and these above the other files beside it.
const ENTRIES: readonly string[] = ['bin.ts', 'main.ts'];
const rootOf = (path: string): string => (ENTRIES.includes(path) ? path.slice(0, -3) : 'src');

const folderOf = (path: string): string => (path.includes('/') ? (path.split('/')[0] ?? '') : rootOf(path));

const innermostFolderOf = (path: string): string =>
  path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : rootOf(path);

const EVERYTHING = [
  ...['contract', 'json', 'files', 'memory', 'formats', 'tools', 'executor', 'redaction', 'queue', 'isolation'],
  ...['session-view', 'sessions', 'telemetry', 'auth', 'settings', 'config-file', 'routes', 'mcp', 'http'],
  ...['wiring', 'testing', 'src'],
];

// What may be imported from where: the table of docs/architecture.md.
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  formats: ['contract', 'json'],
  tools: ['contract'],
  json: [],
  executor: ['contract', 'tools', 'memory', 'json'],
  redaction: ['contract', 'tools', 'executor', 'json'],
  queue: ['tools', 'executor'],
  isolation: ['contract', 'tools', 'executor', 'json'],
  'session-view': ['contract', 'tools', 'executor', 'json'],
  sessions: ['contract', 'executor', 'tools', 'memory'],
  telemetry: ['contract', 'executor', 'redaction', 'queue', 'isolation', 'memory'],
  files: [],
  memory: [],
  auth: ['contract', 'files', 'memory'],
  settings: ['auth', 'contract'],
  console: [],
  routes: ['contract', 'formats', 'executor', 'json'],
  mcp: ['contract', 'json', 'formats', 'executor', 'routes'],
  http: ['routes', 'mcp'],
  'config-file': ['contract', 'tools', 'settings'],
  wiring: EVERYTHING.filter((folder) => folder !== 'src' && folder !== 'testing'),
  testing: ['contract', 'tools', 'executor', 'memory', 'queue', 'redaction', 'session-view', 'sessions'],
  src: EVERYTHING,
  cli: EVERYTHING,
  main: ['cli', 'src'],
  bin: ['main'],
};

// They implement what the executor asks for, or are told of what happens: its types are all they need of it.
const BY_PORTS = ['sessions', 'telemetry', 'redaction', 'queue'];
// Whose insides these do not know.
const INNER = ['executor', 'isolation', 'queue', 'session-view'];

const PORTS = [
  'executor/batch-trace.ts',
  'executor/call-context.ts',
  'executor/call-observer.ts',
  'executor/call-slots.ts',
  'executor/circuit/circuit-observer.ts',
  'executor/ended-sessions.ts',
  'executor/failure.ts',
  'executor/journal/round-lines.ts',
  'executor/keyed-store.ts',
  'executor/redactor.ts',
  'executor/session-store.ts',
  'executor/store-observer.ts',
  'isolation/isolation-observer.ts',
  'queue/load-sample.ts',
];

const MAY_USE: Readonly<Record<string, RegExp>> = {
  contract: /^(zod|fastest-levenshtein)$/,
  json: /^(canonicalize|node:crypto)$/,
  tools: /^(zod|ajv|ajv-formats|ajv\/.*|re2js|node:(diagnostics_channel|module|vm))$/,
  'tools/builtin':
    /^(zod|fastest-levenshtein|ipaddr\.js|undici|lru-cache|@googleapis\/.*|google-auth-library|@slack\/web-api|node:.*)$/,
  'tools/http': /^(ipaddr\.js|undici|node:.*)$/,
  'tools/mcp': /^(zod|@modelcontextprotocol\/client(\/.*)?|undici|node:.*)$/,
  'tools/offers': /^zod$/,
  'tools/openapi': /^(zod|yaml|undici|@scalar\/openapi-upgrader\/2.0-to-3.0|node:.*)$/,
  'tools/directory': /^node:(fs|fs\/promises|module|os|path|url)$/,
  executor: /^(zod|fastest-levenshtein|node:crypto|node:util)$/,
  'executor/circuit': /^cockatiel$/,
  'executor/journal': /^zod$/,
  isolation: /^(zod|node:.*)$/,
  sessions: /^(zod|ioredis|node:crypto|node:fs)$/,
  'telemetry/tracing': /^(@opentelemetry\/.*|node:crypto)$/,
  telemetry: /^(lru-cache|pino|pino-pretty|prom-client|node:fs|node:os|node:path|node:perf_hooks|node:v8)$/,
  auth: /^(ipaddr\.js|jose|rate-limiter-flexible|node:crypto|node:fs)$/,
  settings: /^(zod|node:net)$/,
  formats: /^zod$/,
  http: /^(fastify|@fastify\/.*|node:(crypto|fs|module|path|url))$/,
  mcp: /^(zod|fastify|@modelcontextprotocol\/server(\/.*)?|node:.*)$/,
  'config-file': /^(zod|yaml|node:(fs|fs\/promises|path))$/,
  wiring: /^(zod|fastify|lru-cache|pino|node:.*)$/,
  testing: /^node:(crypto|perf_hooks)$/,
  console: /^lit-html(\/.*)?$/,
  routes: /^(zod|fastify|@fastify\/.*|node:buffer|node:events|node:http|node:net|node:stream)$/,
  src: /^(zod|fastify|pino|node:.*)$/,
  cli: /^(commander|cli-table3|pino|node:(crypto|fs|module|net|path|url|util))$/,
  bin: /^$/,
  main: /^node:(fs|path|stream\/consumers|util)$/,
};

const offences = (check: (file: SourceFile) => readonly string[]): readonly string[] =>
  FILES.flatMap((file) => check(file).map((what) => `${file.path} → ${what}`));

test('the files that are checked are there', () => {
  expect(FILES.length).toBeGreaterThan(60);
  expect(FILES.map(({ path }) => path)).toContain('executor/run-call.ts');
  expect(FILES.find(({ path }) => path === 'executor/run-call.ts')?.local.length).toBeGreaterThan(8);
});

test('imports point downwards only', () => {
  const upwards = offences(({ path, local }) =>
    local
      .filter(({ from }) => folderOf(from) !== folderOf(path))
      .filter(({ from }) => !MAY_IMPORT[folderOf(path)]?.includes(folderOf(from)))
      .map(({ from }) => from),
  );
  expect(upwards).toEqual([]);
});

test('stores, telemetry, redaction and queue know the executor by its ports alone', () => {
  const inside = offences(({ path, local }) =>
    BY_PORTS.includes(folderOf(path))
      ? local
          .map(({ from }) => from)
          .filter((from) => INNER.includes(folderOf(from)) && folderOf(from) !== folderOf(path))
          .filter((from) => !PORTS.includes(from))
      : [],
  );
  expect(inside).toEqual([]);
});

test('no two folders import each other, also a folder and one inside it', () => {
  const imports = new Map<string, string[]>();
  for (const { path, local } of FILES)
    for (const { from } of local) {
      const pair = `${innermostFolderOf(path)} → ${innermostFolderOf(from)}`;
      imports.set(pair, [...(imports.get(pair) ?? []), `${path} → ${from}`]);
    }
  const mutual = [...imports].filter(([pair]) => {
    const [folder, other] = pair.split(' → ');
    return folder !== other && imports.has(`${other} → ${folder}`);
  });
  expect(Object.fromEntries(mutual)).toEqual({});
});

test('stores know of tools nothing but the port they implement', () => {
  const inside = offences(({ path, local }) =>
    folderOf(path) === 'sessions'
      ? local.map(({ from }) => from).filter((from) => folderOf(from) === 'tools' && from !== 'tools/page-tokens.ts')
      : [],
  );
  expect(inside).toEqual([]);
});

test('routes, telemetry, redaction and queue use types of what is below them, never its code', () => {
  const values = offences(({ path, local }) =>
    local
      .filter(({ kind }) => kind === 'value')
      .filter(
        ({ from }) =>
          (['routes', 'redaction', 'queue'].includes(folderOf(path)) && folderOf(from) === 'executor') ||
          (folderOf(path) === 'telemetry' && folderOf(from) === 'tools'),
      )
      .map(({ from }) => from),
  );
  expect(values).toEqual([]);
});

test('packages are used only where the table allows them', () => {
  const strangers = offences(({ path, packages }) => {
    const inner = Object.keys(MAY_USE).find((folder) => folder.includes('/') && path.startsWith(`${folder}/`));
    const key = inner ?? folderOf(path);
    return packages.map(({ from }) => from).filter((name) => !MAY_USE[key]?.test(name));
  });
  expect(strangers).toEqual([]);
});

test('ioredis is known to the Redis client alone', () => {
  const users = FILES.filter(({ packages }) => packages.some(({ from }) => from === 'ioredis'));
  expect(users.map(({ path }) => path)).toEqual(['sessions/redis-client.ts']);
});

test('processes are started by four files alone: for tool hosts, MCP servers and their watch, and commands', () => {
  const starters = FILES.filter(({ packages }) =>
    packages.some(({ from, kind }) => from === 'node:child_process' && kind === 'value'),
  );
  expect(starters.map(({ path }) => path)).toEqual([
    'isolation/process-control.ts',
    'tools/builtin/shell/spawn-sandbox.ts',
    'tools/mcp/orphan-watch.ts',
    'tools/mcp/spawn-server.ts',
  ]);
});

test('no file imports itself through others', () => {
  const edges = new Map(FILES.map(({ path, local }) => [path, local.map(({ from }) => from)]));
  const cycles: string[] = [];
  const done = new Set<string>();
  const visit = (path: string, trail: readonly string[]): void => {
    if (trail.includes(path)) cycles.push([...trail.slice(trail.indexOf(path)), path].join(' → '));
    if (done.has(path) || trail.includes(path)) return;
    for (const next of edges.get(path) ?? []) visit(next, [...trail, path]);
    done.add(path);
  };
  for (const path of edges.keys()) visit(path, []);
  expect(cycles).toEqual([]);
});

test('only main.ts reads the environment, and a tool host its own', () => {
  const readers = FILES.filter(({ code }) => /\bprocess\.env\b|\benv\b.*from 'node:process'/.test(code));
  expect(readers.map(({ path }) => path)).toEqual(['isolation/inside/taint-check.ts', 'main.ts']);
});

// Exceptions become values in few places; each of these says why it may.
const MAY_CATCH = [
  'auth/rate-counters.ts',
  'auth/rate-limits.ts',
  'cli/address/ask-service.ts',
  'cli/call/own-service.ts',
  'cli/check/run-check.ts',
  'cli/init/run-init.ts',
  'cli/key/run-key.ts',
  'cli/program.ts',
  'cli/serve/read-paths.ts',
  'cli/serve/serve.ts',
  'console/parse-json.ts',
  'executor/circuit/circuit-key.ts',
  'executor/classify-thrown.ts',
  'executor/invoke-tool.ts',
  'executor/journal/asked-entry.ts',
  'executor/late-results.ts',
  'executor/outcome.ts',
  'executor/record.ts',
  'executor/run-batch.ts',
  'executor/schedule.ts',
  'executor/settle.ts',
  'isolation/descendants-sweep.ts',
  'isolation/inside/load-report.ts',
  'isolation/inside/taint-check.ts',
  'isolation/inside/thrown-parts.ts',
  'isolation/process-control.ts',
  'json/canonical-text.ts',
  'json/parse-json.ts',
  'main.ts',
  'mcp/answer-plain-call.ts',
  'mcp/create-mcp-server.ts',
  'mcp/end-session.ts',
  'mcp/progress-notifier.ts',
  'redaction/redactor.ts',
  'routes/json-body.ts',
  'routes/sessions.ts',
  'sessions/keyed/kept-result.ts',
  'sessions/redis-script.ts',
  'sessions/store-availability.ts',
  'telemetry/create-observer-guard.ts',
  'telemetry/describe-error.ts',
  'telemetry/logger.ts',
  'telemetry/resident-memory.ts',
  'telemetry/tracing/trace-guard.ts',
  'tools/define-tool.ts',
  'tools/directory/read-directory.ts',
  'tools/json-schema-checks.ts',
  'tools/mcp/build-offer.ts',
  'tools/mcp/connect-server.ts',
  'tools/mcp/http-transport.ts',
  'tools/mcp/list-reader.ts',
  'tools/mcp/orphan-watch.ts',
  'tools/mcp/spawn-server.ts',
  'tools/mcp/stdio-transport.ts',
  'tools/mcp/tool-list.ts',
  'tools/mcp/upstream-fetch.ts',
  'tools/openapi/answer/parse-json-body.ts',
  'tools/openapi/argument-checks.ts',
  'tools/openapi/document/openapi-document.ts',
  'tools/openapi/document/references.ts',
  'tools/openapi/document/run-in-thread.ts',
  'tools/openapi/document/schema-keywords.ts',
  'tools/openapi/document/yaml-worker.ts',
  'tools/openapi/load-operations.ts',
  'tools/time-box.ts',
  'wiring/wire-tools.ts',
];

test('only the listed files catch, beside the built-in tools and their HTTP client', () => {
  const catchers = FILES.filter(({ code }) => /\bcatch\s*[({]/.test(code)).map(({ path }) => path);
  expect(catchers.filter((path) => !/^tools\/(builtin|http)\//.test(path))).toEqual(MAY_CATCH);
});

test('no file is longer than 250 lines', () => {
  expect(FILES.filter(({ lines }) => lines > 250).map(({ path, lines }) => `${path}: ${lines}`)).toEqual([]);
});

test('no file has a name that says nothing', () => {
  const names = FILES.flatMap(({ path }) => path.replace(/\.ts$/, '').split('/'));
  const empty = ['utils', 'helpers', 'common', 'types', 'services', 'manager', 'index'];
  expect(names.filter((name) => empty.includes(name))).toEqual([]);
});
