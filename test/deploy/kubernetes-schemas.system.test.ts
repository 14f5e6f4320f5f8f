import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { ScaledObject } from '@kubernetes-models/keda/keda.sh/v1alpha1/ScaledObject';
import { PrometheusRule } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PrometheusRule';
import { ServiceMonitor } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/ServiceMonitor';
import { Deployment } from 'kubernetes-models/apps/v1/Deployment';
import { StatefulSet } from 'kubernetes-models/apps/v1/StatefulSet';
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2/HorizontalPodAutoscaler';
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget';
import { ConfigMap } from 'kubernetes-models/v1/ConfigMap';
import { Secret } from 'kubernetes-models/v1/Secret';
import { Service } from 'kubernetes-models/v1/Service';
import { ServiceAccount } from 'kubernetes-models/v1/ServiceAccount';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { MANIFESTS, readDocuments, readManifests, renderDeployment } from './read-manifests.ts';
import { ROOT } from './script-sandbox.ts';

const MODELS = new Map<string, new (data?: never) => { readonly validate: () => void }>([
  ['apps/v1 Deployment', Deployment],
  ['apps/v1 StatefulSet', StatefulSet],
  ['autoscaling/v2 HorizontalPodAutoscaler', HorizontalPodAutoscaler],
  ['keda.sh/v1alpha1 ScaledObject', ScaledObject],
  ['monitoring.coreos.com/v1 PrometheusRule', PrometheusRule],
  ['monitoring.coreos.com/v1 ServiceMonitor', ServiceMonitor],
  ['networking.k8s.io/v1 NetworkPolicy', NetworkPolicy],
  ['policy/v1 PodDisruptionBudget', PodDisruptionBudget],
  ['v1 ConfigMap', ConfigMap],
  ['v1 Secret', Secret],
  ['v1 Service', Service],
  ['v1 ServiceAccount', ServiceAccount],
]);

const isKustomize = ({ apiVersion }: { readonly apiVersion: string }): boolean =>
  apiVersion.startsWith('kustomize.config.k8s.io/');

const manifests = readManifests()
  .filter(({ document }) => !isKustomize(document))
  .map(({ path, document }) => ({ title: `${path}: ${document.kind} ${document.metadata.name}`, document }));

/** Throws what the published schema of its kind has against a document. */
const validate = (document: { readonly apiVersion: string; readonly kind: string }): void => {
  const Model = MODELS.get(`${document.apiVersion} ${document.kind}`);
  if (Model === undefined) throw new Error(`${document.apiVersion} ${document.kind} is no kind that is used here.`);
  const model: { readonly validate: () => void } = Reflect.construct(Model, [document]);
  model.validate();
};

test('there are as many documents as there should be', () => {
  expect(manifests.map(({ title }) => title)).toEqual([
    'config-file/config-map.example.yaml: ConfigMap recourse-config-file',
    'config-map.yaml: ConfigMap recourse',
    'deployment.yaml: Deployment recourse',
    'horizontal-pod-autoscaler.yaml: HorizontalPodAutoscaler recourse',
    'network-policy.yaml: NetworkPolicy recourse',
    'pod-disruption-budget.yaml: PodDisruptionBudget recourse',
    'prometheus-operator/service-monitor.yaml: ServiceMonitor recourse',
    'queue-age/scaled-object.yaml: ScaledObject recourse-worker',
    'queue-depth/horizontal-pod-autoscaler.yaml: HorizontalPodAutoscaler recourse',
    'redis/network-policy.yaml: NetworkPolicy recourse-redis',
    'redis/service.yaml: Service recourse-redis',
    'redis/stateful-set.yaml: StatefulSet recourse-redis',
    'secret.example.yaml: Secret recourse-keys',
    'service-account.yaml: ServiceAccount recourse',
    'service.yaml: Service recourse',
    'service.yaml: Service recourse-ops',
    'tools-git-sync/config-map.example.yaml: ConfigMap recourse-git-sync',
    'workers/deployment.yaml: Deployment recourse-worker',
    'workers/horizontal-pod-autoscaler.yaml: HorizontalPodAutoscaler recourse-worker',
    'workers/pod-disruption-budget.yaml: PodDisruptionBudget recourse-worker',
    'workers/service.yaml: Service recourse-worker-ops',
  ]);
});

// Components are patches: what they make of the workloads is what a cluster gets.
const rendered = ['deployment.yaml', 'workers/deployment.yaml'].flatMap((path) =>
  [['tools-image', 'config-file'], ['tools-git-sync']].map((components) => ({
    title: `${path} with ${components.join(' and ')}`,
    document: renderDeployment(path, components),
  })),
);

test.each([...manifests, ...rendered])('$title fits the published schema', ({ document }) => {
  expect(() => validate(document)).not.toThrow();
});

test('a document that does not fit is told of', () => {
  const deployment = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'x' }, spec: {} };
  expect(() => validate(deployment)).toThrow(/selector/);
  expect(() => validate({ ...deployment, apiVersion: 'apps/v1beta1' })).toThrow(/no kind that is used here/);
});

// The schemas let unknown fields pass, and a cluster drops them: a misspelt `readOnlyRootFilesystem` would be no more than
// a comment. So every key must be one that the declarations of these kinds know.
const declared = (packageFile: string, ...folders: readonly string[]): readonly string[] => {
  const root = dirname(createRequire(import.meta.url).resolve(packageFile));
  return folders.flatMap((folder) =>
    readdirSync(join(root, folder))
      .filter((file) => file.endsWith('.d.ts'))
      .flatMap((file) => [...readFileSync(join(root, folder, file), 'utf8').matchAll(/^\s+"(\w+)"\??:/gm)])
      .map(([, name = '']) => name),
  );
};
const FIELDS = new Set([
  ...declared('kubernetes-models/package.json', 'v1', 'apps/v1', 'autoscaling/v2', 'networking.k8s.io/v1', 'policy/v1'),
  ...declared('@kubernetes-models/apimachinery/package.json', 'apis/meta/v1'),
  ...declared('@kubernetes-models/prometheus-operator/package.json', 'monitoring.coreos.com/v1'),
  ...declared('@kubernetes-models/keda/package.json', 'keda.sh/v1alpha1'),
  // Of the trigger `prometheus`, whose metadata are a map of texts to the schema.
  ...['serverAddress', 'query', 'threshold', 'activationThreshold'],
]);
// Their keys are the user's own.
const FREE = new Set(['labels', 'annotations', 'matchLabels', 'data', 'stringData', 'requests', 'limits']);

const unknownKeys = (value: unknown): readonly string[] => {
  if (Array.isArray(value)) return value.flatMap(unknownKeys);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [
    ...(FIELDS.has(key) || key.includes('/') ? [] : [key]),
    ...(FREE.has(key) ? [] : unknownKeys(inner)),
  ]);
};

test('every field is one that Kubernetes knows', () => {
  expect(FIELDS.size).toBeGreaterThan(500);
  expect(unknownKeys({ spec: { readOnlyRootFileSystem: true } })).toEqual(['readOnlyRootFileSystem']);
  expect([...manifests, ...rendered].flatMap(({ document }) => unknownKeys(document))).toEqual([]);
});

const Kustomization = z.object({
  resources: z.array(z.string()).default([]),
  patches: z.array(z.object({ path: z.string().optional(), patch: z.string().optional() })).default([]),
  images: z.array(z.object({ name: z.string(), newName: z.string(), newTag: z.string() })).default([]),
});

const FOLDERS = readdirSync(MANIFESTS, { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() ? [entry.name] : [],
);

test.each(['.', ...FOLDERS])('the kustomization of %s names every manifest', (folder) => {
  const { resources, patches } = Kustomization.parse(readDocuments(join(folder, 'kustomization.yaml'))[0]);
  const named = [...resources, ...patches.flatMap(({ path }) => path ?? [])].sort();
  const there = readdirSync(join(MANIFESTS, folder)).filter((name) => name.endsWith('.yaml'));
  const left = ['kustomization.yaml', 'prometheus-adapter-values.yaml'];
  expect(named).toEqual(there.filter((name) => !left.includes(name) && !name.endsWith('.example.yaml')).sort());
});

test('the image has the version of the package, wherever it is named', () => {
  const { version } = z.object({ version: z.string() }).parse(parse(readFileSync(join(ROOT, 'package.json'), 'utf8')));
  for (const folder of ['.', 'workers']) {
    const { images } = Kustomization.parse(readDocuments(join(folder, 'kustomization.yaml'))[0]);
    expect(images).toEqual([{ name: 'recourse', newName: 'registry.example.com/recourse', newTag: version }]);
    const deployment = readFileSync(join(MANIFESTS, folder, 'deployment.yaml'), 'utf8');
    expect(deployment).toContain(`image: recourse:${version}\n`);
  }
});

test('the files of rules become a PrometheusRule as docs/deployment.md says: indented by two', () => {
  for (const file of ['alerts.yml', 'recording-rules.yml']) {
    const path = join(ROOT, 'deploy', file);
    expect(existsSync(path), file).toBe(true);
    const head = 'apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata:\n  name: recourse\nspec:\n';
    const document: unknown = parse(head + readFileSync(path, 'utf8').replace(/^/gm, '  '));
    expect(() => validate(z.looseObject({ apiVersion: z.string(), kind: z.string() }).parse(document))).not.toThrow();
    expect(unknownKeys(z.looseObject({ spec: z.unknown() }).parse(document).spec)).toEqual([]);
  }
});
