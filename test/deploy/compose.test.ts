import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { ROOT } from './script-sandbox.ts';

const read = (path: string): unknown => parse(readFileSync(join(ROOT, path), 'utf8'), { merge: true });

const Service = z.object({
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
  healthcheck: z.object({ test: z.array(z.string()) }).optional(),
  stop_grace_period: z.string().optional(),
});
const Compose = z.object({
  services: z.object({ recourse: Service, redis: Service, prometheus: Service, grafana: Service }).strict(),
  networks: z.record(z.string(), z.object({ internal: z.boolean() })),
  volumes: z.record(z.string(), z.unknown()),
});
const { services, networks, volumes } = Compose.parse(read('docker-compose.yml'));

test.each(Object.entries(services))(
  '%s has a read-only root, no capabilities and no way to new privileges',
  (_, service) => {
    expect(service.read_only).toBe(true);
    expect(service.cap_drop).toEqual(['ALL']);
    expect(service.security_opt).toEqual(['no-new-privileges:true']);
    expect(service.tmpfs[0]).toMatch(/^\/tmp:/);
  },
);

test('every port is published on loopback, which is what lets anonymous callers in', () => {
  const ports = Object.values(services).flatMap((service) => service.ports);
  expect(ports).toEqual(['127.0.0.1:8080:8080', '127.0.0.1:9090:9090', '127.0.0.1:3000:3000']);
  expect(services.recourse.environment).toMatchObject({
    HOST: '0.0.0.0',
    PORT: 8080,
    ALLOW_ANONYMOUS: expect.stringMatching(/^\$\{ALLOW_ANONYMOUS:-true\}$/),
    REDIS_URL: 'redis://redis:6379',
  });
});

test('the service waits for a Redis that keeps what it acknowledged and evicts nothing', () => {
  expect(services.recourse.depends_on).toEqual({ redis: { condition: 'service_healthy' } });
  expect(services.redis.healthcheck?.test).toEqual(['CMD-SHELL', 'redis-cli ping | grep -q PONG']);
  expect(services.redis.image).toMatch(/^redis:7\./);
  expect(services.redis.command.join(' ')).toBe(
    'redis-server --save  --appendonly yes --appendfsync always --maxmemory 256mb --maxmemory-policy noeviction',
  );
  expect(services.redis.volumes).toEqual(['redis-data:/data']);
});

test('Redis is reached by the service alone, on a network without a way out', () => {
  expect(networks).toEqual({ store: { internal: true } });
  const onStore = Object.entries(services).filter(([, service]) => service.networks.includes('store'));
  expect(onStore.map(([name]) => name)).toEqual(['recourse', 'redis']);
  expect(services.redis.networks).toEqual(['store']);
});

test('the grace of the container is longer than that of the service', () => {
  expect(services.recourse.stop_grace_period).toBe('30s');
});

test('only Prometheus and Grafana wait for the profile observe', () => {
  const observed = Object.entries(services).filter(([, service]) => service.profiles.includes('observe'));
  expect(observed.map(([name]) => name)).toEqual(['prometheus', 'grafana']);
});

test('every volume that is mounted is declared, and every file that is mounted exists', () => {
  const sources = Object.values(services).flatMap((service) =>
    service.volumes.map((volume) => volume.split(':')[0] ?? ''),
  );
  expect(sources).toHaveLength(7);
  const missing = sources.filter((source) =>
    source.startsWith('.') ? !existsSync(join(ROOT, source)) : !Object.hasOwn(volumes, source),
  );
  expect(missing).toEqual([]);
});

test('Prometheus scrapes the service where it listens, and Grafana reads that Prometheus', () => {
  expect(read('deploy/prometheus.yml')).toMatchObject({
    global: { scrape_interval: '5s' },
    scrape_configs: [{ job_name: 'recourse', dns_sd_configs: [{ names: ['recourse'], port: 8080 }] }],
  });
  expect(read('deploy/grafana/provisioning/datasources/prometheus.yml')).toMatchObject({
    datasources: [{ type: 'prometheus', url: 'http://prometheus:9090', jsonData: { timeInterval: '5s' } }],
  });
});

test('Grafana finds the dashboard where its provider looks', () => {
  expect(read('deploy/grafana/provisioning/dashboards/recourse.yml')).toMatchObject({
    providers: [{ type: 'file', options: { path: '/var/lib/grafana-dashboards' } }],
  });
  expect(services.grafana.volumes).toContain('./deploy/grafana/dashboards:/var/lib/grafana-dashboards:ro');
  expect(existsSync(join(ROOT, 'deploy/grafana/dashboards/recourse.json'))).toBe(true);
});
