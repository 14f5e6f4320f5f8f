import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { SETTINGS } from '../../src/config/settings/settings.ts';
import { ROOT } from './script-sandbox.ts';

const read = (path: string): unknown => parse(readFileSync(join(ROOT, path), 'utf8'), { merge: true });

// Strict: `privileged`, `cap_add`, `network_mode` and the like would undo all of it unseen.
const Service = z.strictObject({
  image: z.string(),
  read_only: z.boolean(),
  cap_drop: z.array(z.string()),
  security_opt: z.array(z.string()),
  profiles: z.array(z.string()).default([]),
  ports: z.array(z.string()).default([]),
  volumes: z.array(z.string()).default([]),
  tmpfs: z.array(z.string()),
  command: z.array(z.string()).default([]),
  environment: z.record(z.string(), z.union([z.string(), z.number()])).default({}),
  networks: z.array(z.string()).default(['default']),
  depends_on: z.unknown().optional(),
  healthcheck: z.object({ test: z.array(z.string()), interval: z.string(), timeout: z.string(), retries: z.number() }),
  stop_grace_period: z.string().optional(),
  restart: z.string(),
  pids_limit: z.number(),
  mem_limit: z.string(),
  mem_reservation: z.string(),
  ulimits: z.unknown(),
  logging: z.unknown(),
  secrets: z.array(z.string()).default([]),
  build: z.literal('.').optional(),
  user: z.literal('redis').optional(),
  init: z.literal(true).optional(),
  env_file: z.unknown().optional(),
  cpus: z.number().optional(),
});
const Compose = z.object({
  services: z
    .object({ recourse: Service, worker: Service, redis: Service, prometheus: Service, grafana: Service })
    .strict(),
  networks: z.record(z.string(), z.object({ internal: z.boolean().optional() })),
  volumes: z.record(z.string(), z.unknown()),
});
const { services, networks, volumes } = Compose.parse(read('docker-compose.yml'));

test.each(Object.entries(services))(
  '%s has a read-only root, no capabilities and no way to new privileges',
  (_, service) => {
    expect(service.read_only).toBe(true);
    expect(service.cap_drop).toEqual(['ALL']);
    expect(service.security_opt).toEqual(['no-new-privileges:true']);
    expect(service.tmpfs).toHaveLength(1);
    expect(service.tmpfs[0]).toMatch(/^\/tmp:(mode=1777,)?size=\d+m,noexec,nosuid,nodev$/);
  },
);

test.each(Object.entries(services))('%s may take so much of the machine, and no more', (_, service) => {
  expect(service.mem_limit).toMatch(/^(\d+[mg]|\$\{RECOURSE_MEMORY:-1g\})$/);
  expect(service.mem_reservation).toMatch(/^\d+m$/);
  expect(service.ulimits).toEqual({ core: 0, nofile: { soft: 65_536, hard: 65_536 } });
  expect(service.logging).toEqual({ driver: 'json-file', options: { 'max-size': '10m', 'max-file': '3' } });
  expect(service.restart).toBe('unless-stopped');
});

test('the service may start as many processes as its tool hosts need, the others few', () => {
  const limits = Object.entries(services).map(([name, service]) => [name, service.pids_limit]);
  // For 32 tool hosts, more than the default on 16 cores: one with what it starts may be 20.
  expect(limits).toEqual([
    ['recourse', 1024],
    ['worker', 1024],
    ['redis', 256],
    ['prometheus', 256],
    ['grafana', 256],
  ]);
});

test('images have versions', () => {
  expect(Object.values(services).map((service) => service.image)).toEqual([
    'recourse:local',
    'recourse:local',
    'redis:7.4.6-bookworm',
    'prom/prometheus:v3.5.0',
    'grafana/grafana:12.1.0',
  ]);
});

test('every container tells how it does, by what its image has', () => {
  const checks = Object.values(services).map(({ healthcheck }) => healthcheck.test);
  const [[, node, , script = ''] = [], ofWorker, ...others] = checks;
  expect(node).toBe('node');
  expect(ofWorker).toEqual(checks[0]);
  expect(script).toMatch(/^fetch\('http:\/\/127\.0\.0\.1:9464\/live', /);
  expect(others).toEqual([
    ['CMD', 'redis-cli', '-e', 'ping'],
    ['CMD', 'promtool', 'check', 'ready', '--url=http://127.0.0.1:9090'],
    ['CMD', 'wget', '--quiet', '--output-document=/dev/null', 'http://127.0.0.1:3000/api/health'],
  ]);
});

test('every port is published on loopback, which is what lets anonymous callers in', () => {
  const ports = Object.values(services).flatMap((service) => service.ports);
  expect(ports).toEqual(['127.0.0.1:8080:8080', '127.0.0.1:9090:9090', '127.0.0.1:3000:3000']);
  expect(services.recourse.environment).toMatchObject({
    HOST: '0.0.0.0',
    PORT: 8080,
    // Health and metrics are not on the published port.
    OPS_PORT: 9464,
    ALLOW_ANONYMOUS: expect.stringMatching(/^\$\{ALLOW_ANONYMOUS:-true\}$/),
  });
});

test('the worker runs the queued calls of the service: the same image, settings, files and store, and no published port', () => {
  const { recourse, worker } = services;
  expect([recourse.environment['ROLE'], worker.environment['ROLE']]).toEqual(['api', 'worker']);
  expect(worker.ports).toEqual([]);
  for (const member of ['image', 'build', 'env_file', 'volumes', 'networks', 'depends_on', 'mem_limit'] as const)
    expect(worker[member], member).toEqual(recourse[member]);
  for (const setting of ['HOST', 'OPS_PORT', 'ALLOW_ANONYMOUS', 'REDIS_URL', 'WORKSPACE_DIR'])
    expect(worker.environment[setting], setting).toEqual(recourse.environment[setting]);
});

test('the service waits for a Redis that keeps what it acknowledged and evicts nothing', () => {
  expect(services.recourse.depends_on).toEqual({ redis: { condition: 'service_healthy' } });
  expect(services.redis.command.slice(3).join(' ')).toBe(
    'redis-server --save  --appendonly yes --appendfsync always --maxmemory 256mb --maxmemory-policy noeviction',
  );
  expect(services.redis.volumes).toEqual(['redis-data:/data']);
});

test('the password of Redis is the one in .env: there is no other, and without it nothing starts', () => {
  const password = `\${REDIS_PASSWORD:?is not in .env (see the first lines of docker-compose.yml)}`;
  const { recourse, worker, redis } = services;
  expect([recourse.environment['REDIS_URL'], worker.environment['REDIS_URL']]).toEqual([
    `redis://:${password}@redis:6379`,
    `redis://:${password}@redis:6379`,
  ]);
  expect(redis.environment).toEqual({ REDISCLI_AUTH: password });
});

test('Redis is reached by the service alone, on a network without a way out', () => {
  expect(networks).toEqual({ store: { internal: true }, observe: {} });
  const onStore = Object.entries(services).filter(([, service]) => service.networks.includes('store'));
  expect(onStore.map(([name]) => name)).toEqual(['recourse', 'worker', 'redis']);
  expect(services.redis.networks).toEqual(['store']);
});

test('Grafana reaches Prometheus, and not the service', () => {
  expect(services.grafana.networks).toEqual(['observe']);
  expect(services.prometheus.networks).toEqual(['default', 'observe']);
  expect(services.recourse.networks).toEqual(['default', 'store']);
});

test('with the file of keys on top, only callers with a key get in', () => {
  const Added = z.strictObject({ environment: z.unknown(), secrets: z.unknown() });
  const Keys = z.strictObject({
    services: z.strictObject({ recourse: Added, worker: Added }),
    secrets: z.unknown(),
  });
  const { services: added, secrets } = Keys.parse(read('docker-compose.keys.yml'));
  expect(added.recourse).toEqual({
    environment: { ALLOW_ANONYMOUS: 'false', API_KEYS_FILE: '/run/secrets/api-keys' },
    secrets: ['api-keys'],
  });
  expect(added.worker).toEqual(added.recourse);
  expect(secrets).toEqual({ 'api-keys': { file: './secrets/api-keys' } });
});

test('what is set in the environment of the service are settings', () => {
  const { recourse, worker } = services;
  const names = [...Object.keys(recourse.environment), ...Object.keys(worker.environment), 'API_KEYS_FILE'];
  expect(names.filter((name) => !Object.hasOwn(SETTINGS, name))).toEqual([]);
});

test('the grace of the container is longer than that of the service', () => {
  // SHUTDOWN_GRACE_MS is 25 s; after it the service cuts off, answers, closes and writes its log, for 5 s at most.
  expect(services.recourse.stop_grace_period).toBe('35s');
  expect([services.worker.environment['WORKER_GRACE_MS'], services.worker.stop_grace_period]).toEqual([60_000, '70s']);
});

test('only Prometheus and Grafana wait for the profile observe', () => {
  const observed = Object.entries(services).filter(([, service]) => service.profiles.includes('observe'));
  expect(observed.map(([name]) => name)).toEqual(['prometheus', 'grafana']);
});

test('every volume that is mounted is declared, and every file that is mounted exists', () => {
  const sources = Object.values(services).flatMap((service) =>
    service.volumes.map((volume) => volume.split(':')[0] ?? ''),
  );
  expect(sources).toHaveLength(10);
  const missing = sources.filter((source) =>
    source.startsWith('.') ? !existsSync(join(ROOT, source)) : !Object.hasOwn(volumes, source),
  );
  expect(missing).toEqual([]);
});

test('Prometheus scrapes the service where it listens, and Grafana reads that Prometheus', () => {
  expect(read('deploy/prometheus.yml')).toMatchObject({
    global: { scrape_interval: '5s' },
    scrape_configs: [{ job_name: 'recourse', dns_sd_configs: [{ names: ['recourse', 'worker'], port: 9464 }] }],
  });
  expect(read('deploy/grafana/provisioning/datasources/prometheus.yml')).toMatchObject({
    datasources: [{ type: 'prometheus', url: 'http://prometheus:9090', jsonData: { timeInterval: '5s' } }],
  });
});

test('the rules that Prometheus looks for are mounted where it looks', () => {
  const { rule_files } = z.looseObject({ rule_files: z.array(z.string()) }).parse(read('deploy/prometheus.yml'));
  const mounts = rule_files.map((file) => `./deploy/${file}:/etc/prometheus/${file}:ro`);
  expect(mounts).toHaveLength(2);
  expect(services.prometheus.volumes).toEqual(expect.arrayContaining(mounts));
});

test('Grafana finds the dashboard where its provider looks', () => {
  expect(read('deploy/grafana/provisioning/dashboards/recourse.yml')).toMatchObject({
    providers: [{ type: 'file', options: { path: '/var/lib/grafana-dashboards' } }],
  });
  expect(services.grafana.volumes).toContain('./deploy/grafana/dashboards:/var/lib/grafana-dashboards:ro');
  expect(existsSync(join(ROOT, 'deploy/grafana/dashboards/recourse.json'))).toBe(true);
});
