import { expect, test } from 'vitest';
import { readSourceFiles, type SourceFile } from './source-files.ts';

const FILES = readSourceFiles();

// The program stands above the commands, and these above the other files beside it.
const ENTRIES: readonly string[] = ['bin.ts', 'main.ts'];
const rootOf = (path: string): string => (ENTRIES.includes(path) ? path.slice(0, -3) : 'src');

// Where the service names its packages.
const TABLE = 'packages.ts';

const folderOf = (path: string): string => {
  if (path === TABLE) return TABLE;
  return path.includes('/') ? (path.split('/')[0] ?? '') : rootOf(path);
};

const innermostFolderOf = (path: string): string =>
  path === TABLE ? TABLE : path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : rootOf(path);

const CORE = [
  ...['contract', 'json', 'files', 'memory', 'store', 'tools', 'executor', 'redaction', 'queue'],
  ...['session-view', 'sessions', 'telemetry', 'auth', 'config', 'routes', 'http'],
  'extensions',
];

// What may be imported from where: the table of docs/architecture.md. A folder and what lies in it count as one.
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  json: [],
  files: [],
  memory: ['json'],
  store: ['memory'],
  // Of the clients: the generated types of the API, which the page is compiled against.
  '@console': ['clients', 'contract', 'files', 'routes', 'src'],
  '@dialects': ['contract', 'executor', 'json', 'routes'],
  tools: ['contract', 'json'],
  '@toolkit-kit/egress': ['contract', 'tools'],
  '@toolkit-kit/workspace': ['tools', 'files'],
  '@toolkit-kit': ['contract', 'tools', '@toolkit-kit/egress', '@toolkit-kit/workspace', 'files'],
  // What an extension is, and what it gets.
  extensions: ['contract', 'routes', 'tools', 'src'],
  executor: ['contract', 'tools', 'memory', 'json'],
  redaction: ['contract', 'tools', 'executor', 'json'],
  queue: ['tools', 'executor', 'memory'],
  '@oncall': [
    '@background',
    '@decide',
    'auth',
    'config',
    'contract',
    'executor',
    'extensions',
    'json',
    'memory',
    'routes',
    'sessions',
    'store',
    'telemetry',
    'tools',
  ],
  '@decide': [
    '@background',
    '@toolkit-kit',
    'config',
    'contract',
    'executor',
    'extensions',
    'json',
    'memory',
    'routes',
    'sessions',
    'store',
    'telemetry',
    'tools',
  ],
  '@tool-hosts': ['@decide', 'config', 'contract', 'tools', 'executor', 'json', 'files', 'telemetry'],
  'session-view': ['contract', 'tools', 'executor', 'json'],
  sessions: ['contract', 'executor', 'tools', 'memory', 'json', 'store'],
  '@background': [
    'auth',
    'config',
    'contract',
    'tools',
    'executor',
    'memory',
    'routes',
    'sessions',
    'telemetry',
    '@toolkit-kit',
    'json',
    'store',
    '@store-redis',
  ],
  telemetry: ['contract', 'files', 'executor', 'redaction', 'queue', 'memory', 'store'],
  auth: ['contract', 'files', 'memory'],
  config: ['auth', 'contract', 'files', 'memory', 'sessions', 'tools', 'telemetry', 'extensions', TABLE],
  routes: ['auth', 'contract', 'executor', 'json', 'memory'],
  '@mcp-server': ['auth', 'contract', 'json', '@dialects', 'executor', 'routes', 'src'],
  http: ['routes', 'auth', 'config', 'executor', 'files', 'queue', 'telemetry'],
  wiring: [...CORE, TABLE],
  '@testing': [
    '@background',
    '@decide',
    'contract',
    'tools',
    'executor',
    'memory',
    'queue',
    'redaction',
    'session-view',
    'sessions',
    'store',
  ],
  src: ['contract', 'extensions', 'routes', 'tools', '@testing'],
  cli: [...CORE, 'wiring'],
  main: ['cli', 'config', 'files', '@cli'],
  bin: ['main'],
  '@tracing': ['executor', 'routes', 'telemetry'],
  '@toolkit-notes': ['@toolkit-kit', 'src', 'files'],
  '@upstream-mcp': ['@mcp-server', '@toolkit-kit', '@upstreams', 'contract', 'files', 'src', 'tools'],
  '@upstream-openapi': ['@toolkit-kit', '@upstreams', 'contract', 'files', 'src', 'tools'],
  '@upstreams': ['@toolkit-kit', 'config', 'contract', 'executor', 'extensions', 'files', 'telemetry', 'tools'],
  '@cli': [
    '@tool-hosts',
    'auth',
    'cli',
    'config',
    'contract',
    'files',
    'json',
    'store',
    'tools',
    'wiring',
    '@store-sqlite',
  ],
  '@store-redis': ['memory', 'sessions', 'store'],
  '@store-sqlite': ['memory', 'store', 'telemetry'],
};

// They implement what the executor asks for, or are told of what happens: its types are all they need of it.
const BY_PORTS = ['sessions', 'telemetry', 'redaction', 'queue'];
// Whose insides these do not know.
const INNER = ['executor', 'queue', 'session-view'];

const PORTS = [
  'executor/call-context.ts',
  'executor/call-observer.ts',
  'executor/call-outcome.ts',
  'executor/call-slots.ts',
  'executor/session-store.ts',
  'executor/idempotency-store.ts',
  'executor/pending-calls.ts',
  'executor/redactor.ts',
  'store/store-observer.ts',
  'queue/load-gate.ts',
];

// The table imports every package. A package that has no row is an extension: it has the two public entries, and what toolkits share.
const mayImport = (folder: string, other: string): boolean => {
  if (folder === TABLE) return other === 'extensions' || other.startsWith('@');
  const listed = MAY_IMPORT[folder] ?? (folder.startsWith('@') ? ['src', '@toolkit-kit'] : []);
  return listed.includes(other);
};

const MAY_USE: Readonly<Record<string, RegExp>> = {
  contract: /^(zod|fastest-levenshtein)$/,
  files: /^node:(crypto|fs|fs\/promises|path|url|worker_threads)$/,
  json: /^(canonicalize|node:crypto)$/,
  '@background': /^(zod|fastify|pino|node:(crypto|timers\/promises))$/,
  '@oncall': /^(zod|fastify|pino|prom-client|node:(crypto|os|perf_hooks|timers\/promises))$/,
  '@decide': /^(zod|fastify|pino|node:crypto|node:path|node:timers\/promises)$/,
  '@decide/audit': /^(zod|pino|node:crypto|node:fs|node:fs\/promises)$/,
  tools: /^(zod|ajv|ajv-formats|ajv\/.*|re2js|node:(diagnostics_channel|module|util|vm))$/,
  extensions: /^(prom-client|zod|node:(fs|module|path|url))$/,
  '@toolkit-kit': /^(zod|node:crypto)$/,
  '@toolkit-kit/workspace': /^(zod|fastest-levenshtein|node:.*)$/,
  '@toolkit-kit/egress': /^(ipaddr\.js|undici|node:.*)$/,
  '@upstream-mcp': /^(zod|@modelcontextprotocol\/client(\/.*)?|undici|node:.*)$/,
  '@upstreams': /^(pino|node:(path|timers\/promises|util))$/,
  '@upstream-openapi': /^(zod|yaml|undici|@scalar\/openapi-upgrader\/2.0-to-3.0|node:.*)$/,
  '@tool-hosts/directory': /^zod$|^node:(fs|fs\/promises|module|os|path|url)$/,
  executor: /^(zod|fastest-levenshtein|node:crypto|node:util)$/,
  '@tool-hosts': /^(zod|node:.*)$/,
  sessions: /^(zod|ioredis|node:crypto|node:fs)$/,
  store: /^(zod|node:crypto|node:fs|node:net|node:os|node:sqlite|node:timers\/promises)$/,
  '@background/jobs': /^(bullmq|zod|node:(crypto|timers\/promises))$/,
  '@tracing': /^(@opentelemetry\/.*|node:crypto)$/,
  telemetry: /^(lru-cache|pino|pino-pretty|prom-client|node:fs|node:os|node:path|node:perf_hooks|node:v8)$/,
  auth: /^(ipaddr\.js|jose|rate-limiter-flexible|node:crypto|node:fs)$/,
  '@dialects': /^zod$/,
  http: /^(fastify|@fastify\/.*|lru-cache|pino|node:(crypto|fs))$/,
  '@mcp-server': /^(zod|fastify|@modelcontextprotocol\/server(\/.*)?|node:.*)$/,
  config: /^(zod|yaml|pino|node:(fs|fs\/promises|module|net|os|path|url|v8))$/,
  '@background/webhooks': /^(zod|pino|standardwebhooks|node:crypto)$/,
  wiring: /^(zod|fastify|lru-cache|pino|prom-client|node:.*)$/,
  '@testing': /^node:(crypto|perf_hooks)$/,
  '@console/page': /^lit-html(\/.*)?$/,
  '@console': /^(zod|fastify|node:(crypto|fs|path|zlib))$/,
  routes: /^(zod|fastify|lru-cache|@fastify\/.*|node:buffer|node:events|node:fs|node:http|node:net|node:stream)$/,
  src: /^(prom-client|zod)$/,
  cli: /^(pino|node:(net|util|v8))$/,
  bin: /^$/,
  main: /^node:(fs|module|path|stream\/consumers|util)$/,
  '@toolkit-google': /^(@googleapis\/calendar|@googleapis\/drive|@googleapis\/gmail|google-auth-library|zod|node:.*)$/,
  '@toolkit-slack': /^(@slack\/web-api|zod|node:.*)$/,
  '@cli': /^(cli-table3|commander|pino|zod|node:.*)$/,
  '@store-redis': /^(ioredis|zod|node:.*)$/,
  '@store-sqlite': /^(zod|node:.*)$/,
};

// What a package may use that has no row.
const OF_EXTENSIONS = /^(zod|node:.*)$/;

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
      .filter(({ from }) => !mayImport(folderOf(path), folderOf(from)))
      .map(({ from }) => from),
  );
  expect(upwards).toEqual([]);
});

// The files that are no part of the service that runs, but stand before it.
const BESIDE_TABLE: Readonly<Record<string, string>> = {
  'main.ts': '@cli',
  'testing.ts': '@testing',
};

test('the service imports packages in its table alone', () => {
  const strangers = offences(({ path, local }) =>
    path.startsWith('@') || path === TABLE
      ? []
      : local.map(({ from }) => from).filter((from) => from.startsWith('@') && folderOf(from) !== BESIDE_TABLE[path]),
  );
  expect(strangers).toEqual([]);
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

test('routes, telemetry, redaction, queue and the console use types of what is below them, never its code', () => {
  const values = offences(({ path, local }) =>
    local
      .filter(({ kind }) => kind !== 'type')
      .filter(
        ({ from }) =>
          (['routes', 'redaction', 'queue'].includes(folderOf(path)) && folderOf(from) === 'executor') ||
          (folderOf(path) === 'telemetry' && folderOf(from) === 'tools') ||
          folderOf(from) === 'clients',
      )
      .map(({ from }) => from),
  );
  expect(values).toEqual([]);
});

test('packages are used only where the table allows them', () => {
  const strangers = offences(({ path, packages }) => {
    const inner = Object.keys(MAY_USE).find((folder) => folder.includes('/') && path.startsWith(`${folder}/`));
    return packages
      .map(({ from }) => from)
      .filter((name) => !(MAY_USE[inner ?? folderOf(path)] ?? OF_EXTENSIONS).test(name));
  });
  expect(strangers).toEqual([]);
});

const DECLARATIONS = FILES.filter(({ code }) => /^export const extension = defineExtension\(/m.test(code));

test('each package that declares an extension is in the table, by its entry', () => {
  const table = FILES.find(({ path }) => path === TABLE)?.local.map(({ from }) => from) ?? [];
  expect(DECLARATIONS.length).toBeGreaterThan(8);
  expect(DECLARATIONS.map(({ path }) => path).filter((path) => !table.includes(path))).toEqual([]);
});

test('a declaration of an extension imports only what every start may load', () => {
  const light = ['extension.ts', 'extensions/extension.ts'];
  const heavy = DECLARATIONS.flatMap(({ path, local, packages }) => [
    ...local
      .filter(({ from, kind }) => kind === 'value' && !light.includes(from))
      .map(({ from }) => `${path} → ${from}`),
    ...packages.filter(({ from }) => !/^(zod|node:path)$/.test(from)).map(({ from }) => `${path} → ${from}`),
  ]);
  expect(heavy).toEqual([]);
});

test('ioredis is known to the Redis client alone', () => {
  const users = FILES.filter(({ packages }) => packages.some(({ from }) => from === 'ioredis'));
  expect(users.map(({ path }) => path)).toEqual([
    '@store-redis/redis-client.ts',
    '@store-redis/redis-connections.ts',
    '@store-redis/redis-sentinel.ts',
  ]);
});

test('processes are started by three files alone: for tool hosts, MCP servers with their watch, and commands', () => {
  const starters = FILES.filter(({ packages }) =>
    packages.some(({ from, kind }) => from === 'node:child_process' && kind !== 'type'),
  );
  expect(new Set(starters.map(({ path }) => path))).toEqual(
    new Set(['@tool-hosts/process-control.ts', '@toolkit-shell/spawn-sandbox.ts', '@upstream-mcp/server-process.ts']),
  );
});

test('no file imports itself through others', () => {
  // What the table loads later, by a function, may import whatever asks the table for it.
  const edges = new Map(
    FILES.map(({ path, local }) => [
      path,
      local.filter(({ kind }) => path !== TABLE || kind !== 'later').map(({ from }) => from),
    ]),
  );
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
  expect(new Set(readers.map(({ path }) => path))).toEqual(
    new Set(['@tool-hosts/inside/mutation-check.ts', 'main.ts']),
  );
});

// Exceptions become values in few places: these, with the reason of each.
const MAY_CATCH: Readonly<Record<string, string>> = {
  'auth/rate-limits.ts':
    'a request that is one too many comes as an exception of the library; a rate that cannot be counted refuses nobody',
  '@cli/ask-service.ts': 'a service that cannot be asked is a sentence for people',
  '@cli/check-command.ts': 'a directory that cannot be read is a wrong word of a command line',
  '@cli/init-command.ts': 'a file that cannot be written is a sentence for people',
  '@cli/key-command.ts': 'the same',
  '@cli/own-service.ts': 'settings that no service can be made of are wrong words of a command line',
  '@cli/program.ts': 'commander ends with an exception',
  'cli/serve-command.ts': 'a start that fails ends with one sentence',
  '@cli/store-command.ts': 'why there is no copy is told in words',
  'config/settings/audit-choice.ts': 'a path that cannot be appended to is a mistake in the settings',
  'config/read-configuration.ts': 'mistakes in what settings name stand in one list with all others',
  '@console/page/extension-page.ts': 'the page of an extension may fail, and the console goes on',
  '@console/page/json.ts': 'JSON that a person types is mostly not finished',
  'extensions/load-extensions.ts': 'a module that cannot be loaded is one of the mistakes of a start',
  'executor/answer.ts': 'what is written down after the answer must not end the process',
  'executor/circuit-breakers.ts': "a tool's own function names the upstream",
  'executor/invoke-tool.ts': 'the one place around tool code: schemas, handlers, output checks',
  'executor/json-proof.ts': '`JSON.stringify` is the proof that a value is JSON, and reading what was thrown may throw',
  'executor/outcome.ts': 'what was returned may be a revoked proxy',
  'executor/call-ids.ts': 'a record that is let go of and cannot be asked is free when its lease ends',
  'executor/record-lease.ts': 'a record that cannot be asked becomes a state',
  'executor/run-batch.ts': 'the last-resort net around a batch: a bug of ours costs no caller its answers',
  'executor/schedule.ts': 'the same around one call',
  'executor/settle.ts': 'a settlement that fails must not fail the answer',
  '@tool-hosts/inside/answer-call.ts': 'reading what was thrown may throw',
  '@tool-hosts/inside/channel.ts': 'the service may be gone, and its line with it',
  '@tool-hosts/inside/module-worlds.ts': 'the type stripper says where a module of JavaScript is wrong by throwing',
  '@tool-hosts/inside/mutation-check.ts': 'a patched global may throw when it is looked at',
  '@tool-hosts/inside/shared-state.ts': 'code of a tool may have closed the list of children',
  '@tool-hosts/process-control.ts': 'what the system refuses: a process that is gone, or none to give',
  '@tool-hosts/process-table.ts': 'a process ends while its environment is read',
  '@tool-hosts/tool-hosts.ts': 'a directory that cannot be read leaves no process behind',
  '@background/jobs/due-sweep.ts': 'what cannot be done of an entry now is done later',
  '@background/jobs/shard-worker.ts':
    'the order of tenants is best effort, and a look for a job that fails is told and made again',
  'json/canonical-text.ts': 'a lone surrogate has no canonical form',
  'json/parse-json.ts': '`JSON.parse` as a value',
  'main.ts': 'a file of variables that cannot be read is one of the mistakes of a start',
  '@oncall/states/states.ts': 'what a replica says of itself is written in its own time',
  '@mcp-server/answer-request.ts': 'behind the head of a stream an error has no status any more, and is an event',
  '@oncall/reports/report-book.ts':
    'counts that the store does not take are sent again; the store reports its own failures',
  'redaction/service-redactor.ts': 'what cannot be redacted is left out, and its error, which may show it, too',
  '@oncall/figures/figures.ts':
    'figures that the store does not take are written again; of others the last that were read are shown',
  '@oncall/overview/overview.ts': 'what the store does not tell is named by a warning of the overview',
  '@oncall/overview/shared-overview.ts': 'a reading of a stream that fails is left out: the next one comes',
  '@oncall/lists/call-index.ts': 'lines that the store does not take are counted, and missing in the lists',
  '@decide/audit/audit-file.ts': 'a disk that is full, or a directory that is gone, costs no call its answer',
  '@decide/audit/audit.ts': 'a line that cannot be made is counted, and costs no call its answer',
  '@decide/approvals/approval-book.ts': 'nothing runs that a person has to approve while the store is away',
  '@decide/open-approvals.ts':
    'a tool that throws when it is asked asks a person, and arguments that do not fit are told to who edits them',
  '@decide/checks.ts': 'a check that throws, or whose answer cannot be read, counts as unclear',
  '@decide/policies/policy-settings.ts': 'a JSON Schema that cannot be compiled is a mistake in the configuration file',
  '@decide/reconciler.ts': 'a store that is away costs no call its answer: its outcome stays unknown',
  '@decide/rules/reserve-calls.ts': 'a store that is away refuses calls, or leaves reserved what was',
  '@background/call-waiters.ts': 'calls that cannot be looked at now are looked at a second later',
  '@background/pending-service.ts': 'a store that is away refuses or puts off a call, and the caller is told so',
  '@background/pending-routes.ts':
    'the end of a cancelled call is written after the answer, and tried again by whoever finds it',
  '@background/worker.ts': 'a step on a record that fails is tried again, and ends no worker',
  'routes/stream-batch.ts': 'a stream that breaks says so by its end',
  '@background/pending-notifications.ts': 'an event that is not kept costs no call its end',
  '@upstreams/source-set.ts': 'the state of a source may throw: then it is down',
  'wiring/wire-extensions.ts':
    'a start that fails names the extension to blame; metrics of one that fail leave all others',
  'wiring/wire.ts': 'a session is shown while the records of its pending calls are away',
  '@background/wire-pending.ts': 'where the queue cannot be asked, nothing says that a job waits',
  'routes/body-parsers.ts': 'bytes and JSON that cannot be read are a problem, not a bug',
  'routes/sessions.ts': 'a store that is away is a problem, not a bug',
  '@background/deliveries/fallback-deliveries.ts': 'while the store is away messages are kept in this process',
  'sessions/ended-sessions.ts': 'while the store is away no session has ended',
  'sessions/record-session-store.ts': 'what a store that fails did not settle is estimated',
  'sessions/outage-sessions.ts': 'what was counted here waits until the store takes it',
  'sessions/fallback-session-store.ts': 'while the store is away the policy decides',
  'sessions/idempotency/idempotency-store.ts': 'where the store is away nothing can be promised, and that is said',
  'sessions/record-page-tokens.ts': 'while the store is away pages of this process are found',
  '@store-redis/redis-client.ts': 'NOSCRIPT: the script is sent whole',
  'sessions/store-space.ts':
    'where a write fails its room is given back, and a share that cannot be told of is told of later',
  'sessions/redis-url.ts': 'a % that is no escape is a mistake of the URL',
  'store/store-availability.ts': 'a store that is away becomes a state',
  '@store-redis/redis-record-store.ts': 'a key of another type is no record',
  '@store-redis/redis-record.ts': 'an update that throws is rejected alone, and not those that are decided with it',
  'store/seals.ts': 'a seal that does not fit is a value',
  '@store-sqlite/sqlite-copies.ts': 'who asks for a copy is told why there is none',
  '@store-sqlite/sqlite-file.ts': 'what keeps a file from being a store is said in words',
  '@store-sqlite/sqlite-record-store.ts':
    'a commit that fails rejects all that wait for it; who waits for a file tries again',
  'telemetry/call-metrics.ts': 'an observer that throws changes nothing',
  'telemetry/describe-error.ts': 'reading what was thrown may throw',
  'telemetry/load-sampler.ts': 'Linux without /proc does not tell how much memory a process has',
  'telemetry/logger.ts': 'nobody may read the log any more when the process exits',
  '@tracing/request-trace.ts': 'a tracer that throws changes nothing',
  'tools/define-tool.ts': 'names the tool and the member when a schema cannot be compiled',
  '@tool-hosts/directory/read-directory.ts': 'files vanish while a directory is read',
  'tools/foreign-patterns.ts': 'a pattern that is none, or that RE2 cannot run, is not judged here',
  'tools/resource-shortage.ts': 'what was thrown may throw when it is read',
  'tools/time-box.ts': 'what is cut off ends with an exception',
  '@upstream-mcp/connection.ts': 'what is closed after a failed handshake may be closed already',
  '@upstream-mcp/http-transport.ts': 'closing a session is best effort, and so is ending connections',
  '@upstream-mcp/offered-tools.ts': 'a schema that cannot be compiled makes one tool unavailable, not its server',
  '@upstream-mcp/server-process.ts': 'a process that is gone, or none to give',
  '@upstream-mcp/stdio-transport.ts': 'a server that takes no more input has most often ended',
  '@upstream-mcp/list-refresh.ts': 'a list that cannot be read leaves the one before',
  '@upstream-mcp/tool-list.ts': 'an empty cursor may be refused; an annotation that is none is left out',
  '@upstreams/effect-id-place.ts': 'a schema that cannot be compiled without an argument makes its tool unavailable',
  '@upstream-openapi/linked-files.ts': 'a file that is not there has no real path, and its document goes on',
  '@upstream-openapi/load-operations.ts': 'an operation that cannot be offered is unavailable, not its document',
  '@upstream-openapi/openapi-import.ts': 'a look-up that fails says nothing about the address',
  '@upstream-openapi/operation-tool.ts': "a schema that cannot be compiled refuses its own operation's arguments",
  '@upstream-openapi/parse-document.ts': 'a file may be no JSON, and a document may take too long',
  '@upstream-openapi/read-document.ts': 'a document that cannot be read has a reason for people',
  '@upstream-openapi/references.ts': 'a path that leads nowhere is unavailable, not its document',
  '@upstream-openapi/written-values.ts': 'an argument may be a number of more digits than JSON.stringify writes',
  '@upstream-openapi/yaml-worker.ts': 'one text of YAML that cannot be parsed must not end the others',
};

// The exceptions of the service's own tools and of their HTTP client are answers of the operating system.
const CATCH_FREELY = /^@toolkit-[a-z]+\//;

test('only the listed files catch, beside the toolkits and their HTTP client', () => {
  const catchers = FILES.filter(({ code }) => /\bcatch\s*[({]/.test(code)).map(({ path }) => path);
  expect(catchers.filter((path) => !CATCH_FREELY.test(path))).toEqual(Object.keys(MAY_CATCH).toSorted());
});

test('no file is longer than 400 lines', () => {
  expect(FILES.filter(({ lines }) => lines > 400).map(({ path, lines }) => `${path}: ${lines}`)).toEqual([]);
});

test('no file has a name that says nothing', () => {
  const names = FILES.flatMap(({ path }) => path.replace(/\.ts$/, '').split('/'));
  const empty = ['utils', 'helpers', 'common', 'types', 'services', 'manager', 'index'];
  expect(names.filter((name) => empty.includes(name))).toEqual([]);
});
