import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { loadConfig } from '../../src/config/settings/config.ts';
import { SETTINGS } from '../../src/config/settings/settings.ts';
import { containerOf, OF_REDIS_SECRET, podOf, Settings, workloads } from './kubernetes-pods-lab.ts';
import { readDocuments, readManifest } from './read-manifests.ts';
import { ROOT } from './script-sandbox.ts';

const ofWorker = {
  ...readManifest('config-map.yaml', 'ConfigMap', 'recourse', Settings).data,
  ...OF_REDIS_SECRET,
  ...Object.fromEntries(containerOf('worker').env.map(({ name, value }) => [name, value])),
};

test('a worker could start with what the manifests set, and the replicas beside it become api', () => {
  expect(Object.keys(ofWorker).filter((name) => !Object.hasOwn(SETTINGS, name))).toEqual([]);
  const loaded = loadConfig(ofWorker);
  expect('mistakes' in loaded ? loaded.mistakes : []).toEqual([]);
  expect(loaded.config).toMatchObject({ ROLE: 'worker', OPS_PORT: 9464, WORKER_CONCURRENCY: 16, WORKER_LANES: [] });
  const Patched = z.looseObject({ patches: z.tuple([z.object({ target: z.unknown(), patch: z.string() })]) });
  const [{ target, patch }] = Patched.parse(readDocuments('workers/kustomization.yaml')[0]).patches;
  expect(target).toEqual({ kind: 'Deployment', name: 'recourse' });
  expect(parse(patch)).toEqual([
    { op: 'add', path: '/spec/template/spec/containers/0/env/-', value: { name: 'ROLE', value: 'api' } },
  ]);
});

test('a worker is the image of the replicas, with its own probes, files and keys, and time to end its calls', () => {
  const [replica, worker] = [containerOf('recourse'), containerOf('worker')];
  expect(worker.image).toBe(replica.image);
  expect(worker.ports).toEqual([{ name: 'ops', containerPort: 9464 }]);
  for (const member of ['startupProbe', 'livenessProbe', 'readinessProbe', 'volumeMounts', 'envFrom'])
    expect(Reflect.get(worker, member), member).toEqual(Reflect.get(replica, member));
  expect(podOf('worker').volumes).toEqual(podOf('recourse').volumes);
  const neededMs = Number(ofWorker['WORKER_GRACE_MS']) + 5000;
  expect(podOf('worker').terminationGracePeriodSeconds * 1000).toBeGreaterThan(neededMs);
});

test('workers are scaled by processor time or, in its place, by how long calls wait and how many run', () => {
  const Scaled = z.object({
    spec: z.looseObject({
      scaleTargetRef: z.unknown(),
      minReplicaCount: z.int(),
      cooldownPeriod: z.int(),
      triggers: z.array(z.looseObject({ type: z.literal('prometheus'), metadata: z.record(z.string(), z.string()) })),
    }),
  });
  expect(workloads.worker.spec.replicas).toBeUndefined();
  const target = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'recourse-worker' };
  const { spec } = readManifest('queue-age/scaled-object.yaml', 'ScaledObject', 'recourse-worker', Scaled);
  expect(spec).toMatchObject({ scaleTargetRef: target, minReplicaCount: 0, cooldownPeriod: 600 });
  expect(spec.triggers.map(({ metadata }) => metadata['query'])).toEqual([
    'max(recourse_jobs_oldest_waiting_seconds{job="recourse"})',
    'sum(recourse_jobs_running{job="recourse"})',
  ]);
  // Three quarters of what one worker runs at once.
  expect(Number(spec.triggers[1]?.metadata['threshold'])).toBe(0.75 * Number(ofWorker['WORKER_CONCURRENCY']));
  const metrics = readFileSync(join(ROOT, 'docs/metrics.md'), 'utf8');
  expect(metrics).toContain('`recourse_jobs_oldest_waiting_seconds`');
  expect(metrics).toContain('`recourse_jobs_running`');
  const Autoscaler = z.object({ spec: z.looseObject({ scaleTargetRef: z.unknown(), minReplicas: z.int() }) });
  const file = 'workers/horizontal-pod-autoscaler.yaml';
  const autoscaler = readManifest(file, 'HorizontalPodAutoscaler', 'recourse-worker', Autoscaler);
  expect(autoscaler.spec).toMatchObject({ scaleTargetRef: target, minReplicas: 1 });
  // Two autoscalers of one Deployment undo each other's work.
  const Patched = z.looseObject({ patches: z.tuple([z.object({ patch: z.string() })]) });
  const [{ patch }] = Patched.parse(readDocuments('queue-age/kustomization.yaml')[0]).patches;
  expect(parse(patch)).toMatchObject({
    kind: 'HorizontalPodAutoscaler',
    metadata: { name: 'recourse-worker' },
    $patch: 'delete',
  });
});
