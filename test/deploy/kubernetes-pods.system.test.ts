import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { parseApiKey } from '../../src/auth/api-keys.ts';
import { loadConfig } from '../../src/config/settings/config.ts';
import { SETTINGS } from '../../src/config/settings/settings.ts';
import { containerOf, OF_REDIS_SECRET, podOf, Settings, workloads } from './kubernetes-pods-lab.ts';
import { readDocuments, readManifest } from './read-manifests.ts';
import { ROOT } from './script-sandbox.ts';

const HttpProbe = z.object({ httpGet: z.object({ path: z.string(), port: z.string() }) });

const settings = {
  ...readManifest('config-map.yaml', 'ConfigMap', 'recourse', Settings).data,
  ...OF_REDIS_SECRET,
  ...Object.fromEntries(containerOf('recourse').env.map(({ name, value }) => [name, value])),
};

test.each([
  ['recourse', 1000],
  ['worker', 1000],
  ['redis', 999],
] as const)('the pod of %s fits the restricted security standard, and has a read-only root', (workload, user) => {
  expect(podOf(workload).securityContext).toEqual({
    runAsNonRoot: true,
    runAsUser: user,
    runAsGroup: user,
    fsGroup: user,
    fsGroupChangePolicy: 'OnRootMismatch',
    seccompProfile: { type: 'RuntimeDefault' },
  });
  expect(containerOf(workload).securityContext).toEqual({
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    runAsNonRoot: true,
    capabilities: { drop: ['ALL'] },
    seccompProfile: { type: 'RuntimeDefault' },
  });
});

test.each(['recourse', 'worker', 'redis'] as const)('the container of %s may take so much of its node', (workload) => {
  const { requests, limits } = containerOf(workload).resources;
  expect(Object.keys(requests)).toEqual(['cpu', 'memory', 'ephemeral-storage']);
  expect(Object.keys(limits)).toEqual(['memory', 'ephemeral-storage']);
});

test('images are named with a version, and Redis by the one that compose starts', () => {
  expect(containerOf('recourse').image).toMatch(/^recourse:\d+\.\d+\.\d+$/);
  expect(containerOf('redis').image).toBe('redis:7.4.6-bookworm');
  expect(readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8')).toContain('image: redis:7.4.6-bookworm\n');
});

test('what the manifests set are settings, and the service could start with them', () => {
  expect(Object.keys(settings).filter((name) => !Object.hasOwn(SETTINGS, name))).toEqual([]);
  const loaded = loadConfig(settings);
  expect('mistakes' in loaded ? loaded.mistakes : []).toEqual([]);
  expect(loaded.config).toMatchObject({
    HOST: '0.0.0.0',
    PORT: 8080,
    OPS_PORT: 9464,
    ALLOW_ANONYMOUS: false,
    REDIS_URL: 'redis://:secret@recourse-redis:6379',
    SHUTDOWN_GRACE_MS: 25_000,
  });
});

test('probes ask the ops port, and liveness nothing that a store could fail', () => {
  const container = containerOf('recourse');
  const toProbe = (name: string) => HttpProbe.parse(container[name]).httpGet;
  expect(toProbe('startupProbe')).toEqual({ path: '/live', port: 'ops' });
  expect(toProbe('livenessProbe')).toEqual({ path: '/live', port: 'ops' });
  expect(toProbe('readinessProbe')).toEqual({ path: '/ready', port: 'ops' });
  expect(container.ports).toEqual([
    { name: 'http', containerPort: 8080 },
    { name: 'ops', containerPort: 9464 },
  ]);
  expect([settings['PORT'], settings['OPS_PORT']]).toEqual(['8080', '9464']);
});

test('a replica has time to be forgotten, to drain, and to answer before it is killed', () => {
  const Lifecycle = z.object({ preStop: z.object({ sleep: z.object({ seconds: z.number() }) }) });
  const { preStop } = Lifecycle.parse(containerOf('recourse')['lifecycle']);
  expect(preStop.sleep.seconds).toBe(5);
  // After the grace the service takes up to 5 s: it cuts off, answers, closes and writes its log, a second each.
  const neededMs = preStop.sleep.seconds * 1000 + Number(settings['SHUTDOWN_GRACE_MS']) + 5000;
  expect(podOf('recourse').terminationGracePeriodSeconds * 1000).toBeGreaterThan(neededMs);
});

test('what the service writes to, and reads its keys from, is mounted', () => {
  const { volumeMounts } = containerOf('recourse');
  expect(volumeMounts).toEqual([
    { name: 'tmp', mountPath: '/tmp' },
    { name: 'workspace', mountPath: '/workspace' },
    { name: 'keys', mountPath: '/etc/recourse/keys', readOnly: true },
  ]);
  expect(podOf('recourse').volumes).toEqual([
    { name: 'tmp', emptyDir: { sizeLimit: '64Mi' } },
    { name: 'workspace', emptyDir: { sizeLimit: '1Gi' } },
    // 288 is 0440.
    { name: 'keys', secret: { secretName: 'recourse-keys', defaultMode: 288 } },
  ]);
  expect(dirname(settings['API_KEYS_FILE'] ?? '')).toBe('/etc/recourse/keys');
});

test('the example of a key file is one', () => {
  const Secret = z.object({ stringData: z.object({ 'api-keys': z.string() }) });
  const { stringData } = readManifest('secret.example.yaml', 'Secret', 'recourse-keys', Secret);
  const entries = stringData['api-keys'].split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  expect(entries).toHaveLength(1);
  expect(entries.map(parseApiKey)).toMatchObject([{ ok: true, key: { caller: { tenant: 'example' } } }]);
});

test('at least two replicas run, and the number is left to the autoscaler', () => {
  const Autoscaler = z.object({
    spec: z.looseObject({
      scaleTargetRef: z.unknown(),
      minReplicas: z.number(),
      maxReplicas: z.number(),
      metrics: z.array(z.looseObject({ type: z.string(), pods: z.unknown().optional() })),
    }),
  });
  expect(workloads.recourse.spec.replicas).toBeUndefined();
  const byProcessor = readManifest('horizontal-pod-autoscaler.yaml', 'HorizontalPodAutoscaler', 'recourse', Autoscaler);
  const byQueue = readManifest(
    'queue-depth/horizontal-pod-autoscaler.yaml',
    'HorizontalPodAutoscaler',
    'recourse',
    Autoscaler,
  );
  for (const { spec } of [byProcessor, byQueue]) {
    expect(spec).toMatchObject({
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'recourse' },
      minReplicas: 2,
      maxReplicas: 10,
    });
  }
  expect(byProcessor.spec.metrics.map(({ type }) => type)).toEqual(['Resource']);
  expect(byQueue.spec.metrics.map(({ type }) => type)).toEqual(['Resource', 'Pods']);
  expect(byQueue.spec.metrics[1]?.pods).toMatchObject({ metric: { name: 'recourse_calls_queued' } });
  expect(JSON.stringify(readDocuments('queue-depth/prometheus-adapter-values.yaml'))).toContain(
    'recourse_calls_queued{',
  );
  expect(readFileSync(join(ROOT, 'docs/metrics.md'), 'utf8')).toContain('`recourse_calls_queued`');
});

test('Redis keeps what it acknowledged and evicts nothing', () => {
  expect(containerOf('redis').args.join(' ')).toBe(
    '--dir /data --save  --appendonly yes --appendfsync always --maxmemory 256mb --maxmemory-policy noeviction',
  );
  expect(containerOf('redis').volumeMounts).toEqual([{ name: 'data', mountPath: '/data' }]);
});

test('the password of Redis is in a Secret, of which replicas and workers get the address with it', () => {
  const valueFrom = { secretKeyRef: { name: 'recourse-redis', key: 'REDIS_PASSWORD' } };
  expect(containerOf('redis').env).toEqual([{ name: 'REDISCLI_AUTH', value: '', valueFrom }]);
  for (const workload of ['recourse', 'worker'] as const)
    expect(containerOf(workload)['envFrom']).toContainEqual({ secretRef: { name: 'recourse-redis', optional: true } });
});
