import { join } from 'node:path';
import { configOf, mistakesOf, rulesBrokenBy } from '@recourse/test-support/read-settings.ts';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { loadConfig } from '#src/config/settings/config.ts';
import { SETTINGS } from '#src/config/settings/settings.ts';
import { readStoreChoice } from '#src/config/settings/store-choice.ts';
import { EXTENSION_SETTINGS, OWN_EXTENSIONS } from '#src/packages.ts';

const DIGEST = 'a'.repeat(64);

const DEFAULTS = {
  HOST: '127.0.0.1',
  PORT: 8080,
  ALLOW_ANONYMOUS: false,
  AUDIT: 'off',
  AUDIT_ARGUMENTS: 'digest',
  AUDIT_REQUIRED: false,
  API_KEYS: [],
  JWT_TENANT_CLAIM: 'tenant',
  DOCS: true,
  ALLOWED_ORIGINS: [],
  LOG_LEVEL: 'info',
  LOG_LEVEL_FORMAT: 'number',
  TOOLS_ENV: [],
  TOOLS_ENV_ALLOW: [],
  TOOLS_PERMISSIONS: ['fs-read', 'fs-write', 'net', 'child'],
  TOOLS_INLINE: [],
  TOOLS_ISOLATION: 'shared',
  TOOL_HOSTS_OWN: [],
  TOOLS_REQUIRED: [],
  TOOL_HOST_MAX_CALLS: 10_000,
  TOOL_CONCURRENCY: 512,
  TENANT_CONCURRENCY: 768,
  MAX_CONCURRENT_CALLS: 1024,
  MAX_QUEUED_CALLS: 2048,
  MAX_EVENT_LOOP_LAG_MS: 250,
  MAX_BATCH_CALLS: 64,
  MAX_BODY_BYTES: 1_048_576,
  MAX_RESULT_BYTES: 1_048_576,
  MAX_ANSWER_BYTES: 4_194_304,
  ANSWER_STALL_MS: 30_000,
  MAX_DEADLINE_MS: 300_000,
  BATCH_CONCURRENCY: 64,
  REQUEST_TIMEOUT_MS: 30_000,
  GRACEFUL_TOOL_ERRORS: true,
  SESSION_TTL_SECONDS: 86_400,
  SESSION_RETRIES: 20,
  SESSION_BUDGET_COOLDOWN_SECONDS: 900,
  SESSION_MAX_CALLS: 0,
  SESSION_MAX_ROUNDS: 0,
  SESSION_MAX_PENDING: 16,
  KEY_MAX_PENDING: 2000,
  MAX_PENDING: 20_000,
  SESSION_JOURNAL: 200,
  RETRY_BUDGET_ON_STORE_DOWN: 'local',
  REDIS_MEMORY_MB: 256,
  STORE_KEYS: [],
  CIRCUIT_FAILURES: 10,
  CIRCUIT_OPEN_MS: 10_000,
  RECONCILE_DELAYS: ['1s', '5s', '30s', '2m', '10m', '1h', '6h'],
  SHUTDOWN_GRACE_MS: 25_000,
  ROLE: 'all',
  WORKER_LANES: [],
  WORKER_CONCURRENCY: 16,
  METRICS_MAX_TOOLS: 40,
  METRICS_TENANTS: [],
  SESSION_IDS: 'hash',
  SECRETS_ENV: ['*_TOKEN', '*_KEY', '*_SECRET', '*_PASSWORD', '*_CREDENTIALS'],
  TRACE_CONTENT: false,
  TOOL_GROUPS: [],
  EXTENSIONS: [],
  // Those of the extensions are frozen in their own tests.
  ...z.object(EXTENSION_SETTINGS).parse({}),
  extensions: OWN_EXTENSIONS,
};

test('without settings everything stands at its documented default', () => {
  expect(configOf({})).toEqual(DEFAULTS);
});

test('an empty value means unset, for every setting', () => {
  const names = Object.keys(SETTINGS);
  expect(names.length).toBeGreaterThan(Object.keys(DEFAULTS).length);
  expect(configOf(Object.fromEntries(names.map((name) => [name, ''])))).toEqual(DEFAULTS);
  expect(configOf({ PORT: undefined })).toEqual(DEFAULTS);
});

test('what is no setting of ours is ignored, whatever it is called', () => {
  expect(configOf({ PATH: '/bin', ['__proto__']: 'x', constructor: 'x', PORTS: '1' })).toEqual(DEFAULTS);
});

test('an explicit 0 survives', () => {
  const zeros = {
    PORT: '0',
    SESSION_RETRIES: '0',
    SESSION_BUDGET_COOLDOWN_SECONDS: '0',
    SHUTDOWN_GRACE_MS: '0',
    TOOL_HOSTS_MIN: '0',
    MAX_QUEUED_CALLS: '0',
  };
  expect(configOf(zeros)).toEqual({
    ...DEFAULTS,
    PORT: 0,
    SESSION_RETRIES: 0,
    SESSION_BUDGET_COOLDOWN_SECONDS: 0,
    SHUTDOWN_GRACE_MS: 0,
    TOOL_HOSTS_MIN: 0,
    MAX_QUEUED_CALLS: 0,
  });
});

test.each([
  ['PORT', '65536', 'PORT must be from 0 to 65535'],
  ['MAX_BATCH_CALLS', '0', 'MAX_BATCH_CALLS must be from 1 to 1024'],
  ['MAX_BATCH_CALLS', '1025', 'MAX_BATCH_CALLS must be from 1 to 1024'],
  ['BATCH_CONCURRENCY', '0', 'BATCH_CONCURRENCY must be from 1 to 1024'],
  ['MAX_BODY_BYTES', '1023', 'MAX_BODY_BYTES must be from 1024 to 268435456'],
  ['MAX_DEADLINE_MS', '0', 'MAX_DEADLINE_MS must be from 1 to 2147483647'],
  // A longer timer fires at once.
  ['SHUTDOWN_GRACE_MS', '2147483648', 'SHUTDOWN_GRACE_MS must be from 0 to 2147483647'],
  ['ROLE', 'api', 'ROLE is api, which needs REDIS_URL: without Redis, calls wait in the process that accepted them'],
  ['ROLE', 'workers', "ROLE must be one of all, api, worker: 'workers' is not allowed; did you mean 'worker'?"],
  ['METRICS_TENANTS', 'acme,other tenant', 'METRICS_TENANTS must be a comma-separated list of tenants'],
  [
    'METRICS_TENANTS',
    Array.from({ length: 101 }, (_, at) => `t${at}`).join(','),
    'METRICS_TENANTS must name at most 100 tenants',
  ],
  ['WORKER_LANES', 'gpu,GPU', 'WORKER_LANES must be a comma-separated list of lanes'],
  ['TOOL_HOSTS_MAX', '0', 'TOOL_HOSTS_MAX must be from 1 to 1024'],
  ['TOOL_HOST_MEMORY_MB', '159', 'TOOL_HOST_MEMORY_MB must be from 160 to 65536'],
  ['TOOL_HOST_MAX_CALLS', '0', 'TOOL_HOST_MAX_CALLS must be from 1 to 9007199254740991'],
  ['TOOL_CONCURRENCY', '0', 'TOOL_CONCURRENCY must be from 1 to 10000'],
  ['MAX_CONCURRENT_CALLS', '0', 'MAX_CONCURRENT_CALLS must be from 1 to 100000'],
  ['MAX_QUEUED_CALLS', '100001', 'MAX_QUEUED_CALLS must be from 0 to 100000'],
  ['MAX_EVENT_LOOP_LAG_MS', '9', 'MAX_EVENT_LOOP_LAG_MS must be from 10 to 2147483647'],
  ['REQUEST_TIMEOUT_MS', '99', 'REQUEST_TIMEOUT_MS must be from 100 to 2147483647'],
  ['AUDIT', 'file', 'AUDIT must be off, stdout, or file:PATH'],
  ['AUDIT', 'file:~/a', 'AUDIT has a path that begins with ~, which only a shell expands: write the absolute path'],
  ['AUDIT', 'file:/', 'AUDIT must be off, stdout, or file:PATH'],
  ['AUDIT', 'file:/tmp', 'AUDIT names the directory /tmp: name a file in it'],
  [
    'AUDIT',
    'file:/nowhere/a',
    'AUDIT names /nowhere/a, which this user cannot append to (ENOENT): create its directory, or give the user the rights to it',
  ],
  ['AUDIT_REQUIRED', 'true', 'AUDIT is off, and AUDIT_REQUIRED is true: set AUDIT to file:PATH or stdout'],
  ['STORE', 'sqlite', 'STORE must be memory, redis, or sqlite:PATH, which may end with ?durable=power'],
  [
    'STORE',
    'sqlite:a.db?durable=always',
    'STORE must be memory, redis, or sqlite:PATH, which may end with ?durable=power',
  ],
  [
    'STORE',
    'redis',
    'STORE is redis, and REDIS_URL is not set: set it to the address of the Redis, or STORE to memory or sqlite:PATH',
  ],
  [
    'STORE',
    'sqlite:~/a.db',
    'STORE has a path that begins with ~, which only a shell expands: write the absolute path',
  ],
])('%s=%s is out of range', (name, text, mistake) => {
  expect(mistakesOf({ [name]: text })).toEqual([mistake]);
});

test.each(['memory', 'sqlite:a.db'])('STORE=%s contradicts REDIS_URL', (store) => {
  const kind = store.startsWith('sqlite') ? 'sqlite' : 'memory';
  expect(mistakesOf({ STORE: store, REDIS_URL: 'redis://127.0.0.1' })).toEqual([
    `STORE is ${kind}, and REDIS_URL is set, which is for STORE=redis alone: unset one of the two`,
  ]);
});

test('the store is Redis where REDIS_URL is set, else memory; a path of SQLite becomes absolute', () => {
  expect(readStoreChoice({})).toEqual({ kind: 'memory' });
  expect(readStoreChoice({ REDIS_URL: 'redis://127.0.0.1' })).toEqual({ kind: 'redis' });
  expect(readStoreChoice({ STORE: 'sqlite:/data/a.db' })).toEqual({
    kind: 'sqlite',
    path: '/data/a.db',
    durable: 'process',
  });
  expect(readStoreChoice({ STORE: 'sqlite:a.db?durable=power' })).toEqual({
    kind: 'sqlite',
    path: join(process.cwd(), 'a.db'),
    durable: 'power',
  });
});

const OPEN_HOST =
  'which other machines can reach, and no API keys are configured: set API_KEYS, or ALLOW_ANONYMOUS=true to allow everyone';

test.each([
  '0.0.0.0',
  '::',
  '10.0.0.7',
  'example.com',
  '127.0.0.1.example.com',
  '::ffff:0.0.0.0',
  'localhost.example.com',
])('without keys the address %s is refused', (host) => {
  expect(mistakesOf({ HOST: host })).toEqual([`HOST is ${host}, ${OPEN_HOST}`]);
});

test.each(['127.0.0.1', '127.8.8.8', 'localhost', '::1'])('without keys the loopback address %s is taken', (host) => {
  expect(configOf({ HOST: host }).HOST).toBe(host);
});

test('with keys, a file of keys, or leave for everybody, any address is taken', () => {
  const HOST = '0.0.0.0';
  for (const leave of [{ API_KEYS: `acme=${DIGEST}` }, { API_KEYS_FILE: '/keys' }, { ALLOW_ANONYMOUS: 'true' }])
    expect(configOf({ HOST, ...leave }).HOST).toBe('0.0.0.0');
});

test('a list of keys without a key in it is no list of keys', () => {
  expect(mistakesOf({ HOST: '0.0.0.0', API_KEYS: ' , ,' })).toEqual([`HOST is 0.0.0.0, ${OPEN_HOST}`]);
});

test('a session must outlive the longest batch', () => {
  const mistake =
    'SESSION_TTL_SECONDS must be longer than MAX_DEADLINE_MS, or a session could expire before its batch ends';
  expect(mistakesOf({ SESSION_TTL_SECONDS: '300' })).toEqual([mistake]);
  expect(mistakesOf({ SESSION_TTL_SECONDS: '60', MAX_DEADLINE_MS: '60000' })).toEqual([mistake]);
  expect(configOf({ SESSION_TTL_SECONDS: '301' }).SESSION_TTL_SECONDS).toBe(301);
  expect(configOf({ SESSION_TTL_SECONDS: '61', MAX_DEADLINE_MS: '60000' }).MAX_DEADLINE_MS).toBe(60_000);
});

test('no more tool hosts are kept warm than there may be', () => {
  const mistake = 'TOOL_HOSTS_MIN must not be larger than TOOL_HOSTS_MAX';
  expect(mistakesOf({ TOOL_HOSTS_MIN: '4', TOOL_HOSTS_MAX: '3' })).toEqual([mistake]);
  // The other one is found by the machine then.
  expect(mistakesOf({ TOOL_HOSTS_MAX: '1' })).toEqual([]);
  expect(mistakesOf({ TOOL_HOSTS_MIN: '33' })).toEqual([]);
  expect(configOf({ TOOL_HOSTS_MIN: '3', TOOL_HOSTS_MAX: '3' }).TOOL_HOSTS_MIN).toBe(3);
});

test('variables for tools are named one by one, or by a beginning where a tool has to ask for them', () => {
  const rule = 'must be a comma-separated list of names of environment variables';
  const names = { TOOLS_ENV: 'LC_ALL, proxy1', TOOLS_ENV_ALLOW: 'GITHUB_*,TOKEN' };
  expect(configOf(names)).toMatchObject({
    TOOLS_ENV: ['LC_ALL', 'proxy1'],
    TOOLS_ENV_ALLOW: ['GITHUB_*', 'TOKEN'],
  });
  for (const name of ['GITHUB_*', 'A=B', '1A', 'A-B', 'A B'])
    expect(rulesBrokenBy({ TOOLS_ENV: name })).toEqual([`TOOLS_ENV ${rule}`]);
  for (const name of ['*', '*_TOKEN', 'A*B', 'A=B'])
    expect(rulesBrokenBy({ TOOLS_ENV_ALLOW: name })).toEqual([`TOOLS_ENV_ALLOW ${rule}, or prefixes such as GITHUB_*`]);
});

test('a permission that does not exist is refused', () => {
  expect(configOf({ TOOLS_PERMISSIONS: 'fs-read, net' }).TOOLS_PERMISSIONS).toEqual(['fs-read', 'net']);
  for (const word of ['all', 'fs', 'FS-READ', 'fs-read net'])
    expect(rulesBrokenBy({ TOOLS_PERMISSIONS: word })).toEqual([
      'TOOLS_PERMISSIONS must be a comma-separated list of fs-read, fs-write, net, child, worker, addons, wasi',
    ]);
});

test('mistakes of single settings and of settings together are listed in one go', () => {
  expect(rulesBrokenBy({ PORT: 'x', LOG_LEVEL: 'x', HOST: '0.0.0.0', SESSION_TTL_SECONDS: '1' })).toEqual([
    'PORT must be a whole number',
    'LOG_LEVEL must be one of trace, debug, info, warn, error, fatal, silent',
    `HOST is 0.0.0.0, ${OPEN_HOST}`,
    'SESSION_TTL_SECONDS must be longer than MAX_DEADLINE_MS, or a session could expire before its batch ends',
  ]);
});

test('a wrong setting is named once: what depends on it is not judged by a guess', () => {
  expect(mistakesOf({ HOST: '0.0.0.0', API_KEYS: 'secret' })).toHaveLength(1);
  expect(mistakesOf({ SESSION_TTL_SECONDS: '1', MAX_DEADLINE_MS: 'soon' })).toEqual([
    'MAX_DEADLINE_MS must be a whole number',
  ]);
});

const STORE_KEY = Buffer.alloc(32, 7).toString('base64');

test('a malformed STORE_KEYS refuses the start, is not repeated, and it is said what to do', () => {
  expect(configOf({ STORE_KEYS: `k1:${STORE_KEY}, k2:${STORE_KEY}` }).STORE_KEYS).toHaveLength(2);
  const makeOne = 'make one with recourse key --store';
  const malformed = `entry 2 must be id:base64 with 32 random bytes in base64; ${makeOne}`;
  for (const wrong of ['SECRET', 'k2:SECRET', `k2:${STORE_KEY}SECRET`])
    expect(mistakesOf({ STORE_KEYS: `k1:${STORE_KEY},${wrong}` })).toEqual([`STORE_KEYS ${malformed}`]);
  expect(mistakesOf({ STORE_KEYS: `k1:${STORE_KEY},k1:${STORE_KEY}` })).toEqual([
    `STORE_KEYS entry 2 has the id of an earlier entry; ${makeOne}`,
  ]);
  for (const rule of ['optional', 'required'])
    expect(mistakesOf({ STORE_SEALED: rule })).toEqual([
      `STORE_SEALED is ${rule}, and STORE_KEYS is not set: make a key with recourse key --store, or unset STORE_SEALED`,
    ]);
});

test('beside mistakes there is a config in which the wrong settings stand at their defaults', () => {
  const { config } = loadConfig({ PORT: 'x', WORKSPACE_DIR: '/somewhere', SESSION_RETRIES: '7' });
  expect(config).toEqual({ ...DEFAULTS, WORKSPACE_DIR: '/somewhere', SESSION_RETRIES: 7 });
});

test('tool groups are named from a closed list', () => {
  expect(configOf({ TOOL_GROUPS: 'notes, drive' }).TOOL_GROUPS).toEqual(['notes', 'drive']);
  const words = [...OWN_EXTENSIONS.groups.keys()].join(', ');
  expect(words).toMatch(/^notes, shell, drive, mail, calendar\b/);
  expect(rulesBrokenBy({ TOOL_GROUPS: 'notes,gdrive' })).toEqual([
    `TOOL_GROUPS must be a comma-separated list of ${words}`,
  ]);
});

test('a setting of an earlier version is refused with what took its place', () => {
  const former = ['STORE_DROPPABLE_PERCENT', 'STORE_TENANT_PERCENT', 'WORKER_STALL_MS', 'ANSWER_MEMORY_MB'];
  const loaded = loadConfig(Object.fromEntries(former.map((name) => [name, '5'])));
  const mistakes = 'mistakes' in loaded ? loaded.mistakes : [];
  expect(mistakes.map((text) => text.split(':')[0])).toEqual(former.map((name) => `${name} is no longer a setting`));
});

test('a group of another extension is no second mistake beside a wrong setting', () => {
  const groups = new Map([...OWN_EXTENSIONS.groups.keys(), 'clock'].map((name) => [name, { tools: () => [] }]));
  const extensions = { ...OWN_EXTENSIONS, settings: { ...OWN_EXTENSIONS.settings }, groups };
  const loaded = loadConfig({ TOOL_GROUPS: 'clock', PORT: 'eighty' }, Object.assign({}, OWN_EXTENSIONS, extensions));
  expect('mistakes' in loaded ? loaded.mistakes : []).toEqual(['PORT must be a whole number']);
});
