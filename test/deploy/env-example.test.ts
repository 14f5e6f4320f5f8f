import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { expect, test } from 'vitest';
import { SETTINGS } from '../../src/config/settings/settings.ts';
import { EXTENSION_SETTINGS } from '../../src/packages.ts';
import { ROOT } from './script-sandbox.ts';

const text = readFileSync(join(ROOT, '.env.example'), 'utf8');
const settings = text.split('\n').filter((line) => /^# [A-Z_]+=/.test(line));

test('a copy of the example changes nothing', () => {
  expect(parseEnv(text)).toEqual({});
});

test('every setting has a line of explanation above it, and a value that can be read', () => {
  const lines = text.split('\n');
  for (const setting of settings) {
    // Settings that belong together may share their explanation.
    const above = lines.slice(0, lines.indexOf(setting)).findLast((line) => !settings.includes(line));
    expect(above, setting).toMatch(/^# (false = )?[A-Za-z].*\.$/);
    expect(Object.keys(parseEnv(setting.slice(2)))).toHaveLength(1);
  }
});

test('the settings that operators rely on are there, once each, with their defaults', () => {
  const values = Object.fromEntries(settings.flatMap((line) => Object.entries(parseEnv(line.slice(2)))));
  expect(settings).toHaveLength(Object.keys(values).length);
  const core = Object.entries(values).filter(([name]) => !Object.hasOwn(EXTENSION_SETTINGS, name));
  expect(Object.fromEntries(core)).toEqual({
    HOST: '127.0.0.1',
    PORT: '8080',
    OPS_PORT: '9464',
    ALLOW_ANONYMOUS: 'false',
    API_KEYS: '',
    API_KEYS_FILE: '',
    JWT_JWKS_URL: 'https://issuer.example.com/.well-known/jwks.json',
    JWT_ISSUER: '',
    JWT_AUDIENCE: '',
    JWT_TENANT_CLAIM: 'tenant',
    EXTENSIONS: '',
    RATE_LIMIT: '600/m',
    DOCS: 'true',
    ALLOWED_ORIGINS: '',
    LOG_LEVEL: 'info',
    LOG_LEVEL_FORMAT: 'number',
    AUDIT: 'off',
    AUDIT_ARGUMENTS: 'digest',
    AUDIT_REQUIRED: 'false',
    STORE: 'sqlite:recourse.db',
    REDIS_URL: 'redis://127.0.0.1:6379',
    REDIS_SENTINEL_PASSWORD: '',
    STORE_KEYS: '',
    STORE_SEALED: 'required',
    WORKSPACE_DIR: '',
    TOOLS_DIR: '',
    TOOLS_ENV: '',
    TOOLS_ENV_ALLOW: '',
    TOOLS_PERMISSIONS: 'fs-read,fs-write,net,child',
    TOOLS_INLINE: '',
    TOOLS_ISOLATION: 'shared',
    TOOL_HOSTS_OWN: '',
    TOOLS_REQUIRED: '',
    TOOL_HOSTS_MIN: '2',
    TOOL_HOSTS_MAX: '4',
    TOOL_HOST_MEMORY_MB: '512',
    TOOL_HOST_MAX_CALLS: '10000',
    TOOL_CONCURRENCY: '512',
    TENANT_CONCURRENCY: '768',
    MAX_CONCURRENT_CALLS: '1024',
    MAX_QUEUED_CALLS: '2048',
    MAX_EVENT_LOOP_LAG_MS: '250',
    GRACEFUL_TOOL_ERRORS: 'true',
    TOOL_GROUPS: '',
    MAX_BATCH_CALLS: '64',
    MAX_BODY_BYTES: '1048576',
    MAX_RESULT_BYTES: '1048576',
    MAX_ANSWER_BYTES: '4194304',
    REQUEST_MEMORY_MB: '96',
    ANSWER_STALL_MS: '30000',
    MAX_DEADLINE_MS: '300000',
    BATCH_CONCURRENCY: '64',
    REQUEST_TIMEOUT_MS: '30000',
    METRICS_MAX_TOOLS: '40',
    METRICS_TENANTS: '',
    SESSION_IDS: 'hash',
    SECRETS_ENV: '*_TOKEN,*_KEY,*_SECRET,*_PASSWORD,*_CREDENTIALS',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318',
    TRACE_CONTENT: 'false',
    SESSION_TTL_SECONDS: '86400',
    SESSION_RETRIES: '20',
    SESSION_BUDGET_COOLDOWN_SECONDS: '900',
    SESSION_MAX_CALLS: '0',
    SESSION_MAX_ROUNDS: '0',
    SESSION_JOURNAL: '200',
    SESSION_MAX_PENDING: '16',
    KEY_MAX_PENDING: '2000',
    MAX_PENDING: '20000',
    STORE_MEMORY_MB: '128',
    RETRY_BUDGET_ON_STORE_DOWN: 'local',
    REDIS_MEMORY_MB: '256',
    CIRCUIT_FAILURES: '10',
    CIRCUIT_OPEN_MS: '10000',
    RECONCILE_DELAYS: '1s,5s,30s,2m,10m,1h,6h',
    CONFIG_FILE: '',
    SHUTDOWN_GRACE_MS: '25000',
    ROLE: 'all',
    WORKER_LANES: 'default,gpu',
    WORKER_CONCURRENCY: '16',
    WORKER_GRACE_MS: '25000',
  });
});

test('the example names every setting that the service reads, and none that it ignores', () => {
  const named = settings.map((line) => line.slice(2, line.indexOf('=')));
  expect(named.sort()).toEqual(Object.keys(SETTINGS).sort());
});

test('the example gives the settings of toolkits their defaults', () => {
  const values = Object.fromEntries(settings.flatMap((line) => Object.entries(parseEnv(line.slice(2)))));
  expect(values).toMatchObject({ NOTES_DIR: '', SHELL_TIMEOUT_MS: '30000', FETCH_ALLOW_PRIVATE: 'false' });
});
