import { BlockList, isIPv6 } from 'node:net';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { readDeployed } from './alert-rules.ts';
import { type Manifest, readManifest } from './read-manifests.ts';

const Labels = z.record(z.string(), z.string());
const Selected = z.object({ matchLabels: Labels });
const Workload = z.object({
  spec: z.looseObject({ selector: Selected, template: z.looseObject({ metadata: z.object({ labels: Labels }) }) }),
});
const ServicePort = z.object({ name: z.string(), port: z.number(), targetPort: z.string() });
const Service = z.object({
  metadata: z.object({ labels: Labels }),
  spec: z.looseObject({ selector: Labels, clusterIP: z.string().optional(), ports: z.array(ServicePort) }),
});
const Peer = z
  .object({
    ipBlock: z.object({ cidr: z.string(), except: z.array(z.string()).default([]) }),
    podSelector: Selected,
    namespaceSelector: Selected,
  })
  .partial();
const Port = z.object({ protocol: z.string(), port: z.union([z.number(), z.string()]) });
const Policy = z.object({
  spec: z.object({
    podSelector: Selected,
    policyTypes: z.array(z.string()),
    ingress: z.array(z.object({ from: z.array(Peer).min(1), ports: z.array(Port).min(1) })),
    egress: z.array(z.object({ to: z.array(Peer).min(1), ports: z.array(Port).min(1) })),
  }),
});

const recourse = readManifest('deployment.yaml', 'Deployment', 'recourse', Workload);
const worker = readManifest('workers/deployment.yaml', 'Deployment', 'recourse-worker', Workload);
const redis = readManifest('redis/stateful-set.yaml', 'StatefulSet', 'recourse-redis', Workload);
const services = {
  api: readManifest('service.yaml', 'Service', 'recourse', Service),
  ops: readManifest('service.yaml', 'Service', 'recourse-ops', Service),
  worker: readManifest('workers/service.yaml', 'Service', 'recourse-worker-ops', Service),
  redis: readManifest('redis/service.yaml', 'Service', 'recourse-redis', Service),
};
const policies = {
  recourse: readManifest('network-policy.yaml', 'NetworkPolicy', 'recourse', Policy).spec,
  redis: readManifest('redis/network-policy.yaml', 'NetworkPolicy', 'recourse-redis', Policy).spec,
};
const PodLabels = {
  recourse: recourse.spec.template.metadata.labels,
  worker: worker.spec.template.metadata.labels,
  redis: redis.spec.template.metadata.labels,
};

const selects = (
  selector: Readonly<Manifest['metadata']['labels']>,
  labels: Readonly<Record<string, string>>,
): boolean => Object.entries(selector).every(([name, value]) => labels[name] === value);

/** Which pods a selector finds. */
const podsOf = (selector: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(PodLabels).flatMap(([name, labels]) => (selects(selector, labels) ? [name] : []));

test('every selector finds the pods it is for, and no others', () => {
  const Budget = z.object({ spec: z.looseObject({ selector: Selected, maxUnavailable: z.literal(1) }) });
  const budget = readManifest('pod-disruption-budget.yaml', 'PodDisruptionBudget', 'recourse', Budget);
  const path = 'workers/pod-disruption-budget.yaml';
  const ofWorkers = readManifest(path, 'PodDisruptionBudget', 'recourse-worker', Budget);
  const ofRecourse = [
    recourse.spec.selector.matchLabels,
    services.api.spec.selector,
    services.ops.spec.selector,
    budget.spec.selector.matchLabels,
  ];
  const ofWorker = [
    worker.spec.selector.matchLabels,
    services.worker.spec.selector,
    ofWorkers.spec.selector.matchLabels,
  ];
  const ofBoth = [
    policies.recourse.podSelector.matchLabels,
    ...policies.redis.ingress.flatMap(({ from }) => from.map(({ podSelector }) => podSelector?.matchLabels ?? {})),
  ];
  const ofRedis = [
    redis.spec.selector.matchLabels,
    services.redis.spec.selector,
    policies.redis.podSelector.matchLabels,
  ];
  expect(ofRecourse.map(podsOf)).toEqual(Array(4).fill(['recourse']));
  expect(ofWorker.map(podsOf)).toEqual(Array(3).fill(['worker']));
  expect(ofBoth.map(podsOf)).toEqual(Array(2).fill(['recourse', 'worker']));
  expect(ofRedis.map(podsOf)).toEqual(Array(3).fill(['redis']));
});

test('pods are spread by labels that they have', () => {
  const Spread = z.object({
    topologySpreadConstraints: z.array(z.object({ topologyKey: z.string(), labelSelector: Selected })),
  });
  const { topologySpreadConstraints } = Spread.parse(recourse.spec.template['spec']);
  expect(topologySpreadConstraints.map(({ topologyKey }) => topologyKey)).toEqual([
    'topology.kubernetes.io/zone',
    'kubernetes.io/hostname',
  ]);
  for (const { labelSelector } of topologySpreadConstraints) {
    expect(podsOf(labelSelector.matchLabels)).toEqual(['recourse']);
  }
  const ofWorkers = Spread.parse(worker.spec.template['spec']).topologySpreadConstraints;
  expect(ofWorkers.map(({ labelSelector }) => podsOf(labelSelector.matchLabels))).toEqual([['worker']]);
});

test('callers get the API and no metrics, Prometheus gets the metrics of every replica', () => {
  expect(services.api.spec.ports).toEqual([{ name: 'http', port: 80, targetPort: 'http' }]);
  expect(services.ops.spec.ports).toEqual([{ name: 'ops', port: 9464, targetPort: 'ops' }]);
  expect(services.ops.spec).toMatchObject({ clusterIP: 'None', publishNotReadyAddresses: true });
  expect(services.worker.spec).toMatchObject({ clusterIP: 'None', ports: services.ops.spec.ports });
  expect(services.redis.spec.ports).toEqual([{ name: 'redis', port: 6379, targetPort: 'redis' }]);
});

test('the ServiceMonitor finds the ops Services alone, asks for what is there, and calls the job by the name in the alerts', () => {
  const Monitor = z.object({
    spec: z.looseObject({
      jobLabel: z.string(),
      selector: Selected,
      endpoints: z.array(z.looseObject({ port: z.string(), path: z.string() })),
      sampleLimit: z.int(),
    }),
  });
  const { spec } = readManifest('prometheus-operator/service-monitor.yaml', 'ServiceMonitor', 'recourse', Monitor);
  const found = Object.entries(services).filter(([, service]) =>
    selects(spec.selector.matchLabels, service.metadata.labels),
  );
  expect(found.map(([name]) => name)).toEqual(['ops', 'worker']);
  expect(found.map(([, service]) => service.metadata.labels[spec.jobLabel])).toEqual(['recourse', 'recourse']);
  expect(spec.endpoints).toMatchObject([{ port: 'ops', path: '/metrics' }]);
  expect(spec.sampleLimit).toBe(60_000);
  expect(parse(readDeployed('deploy/prometheus.yml'))).toMatchObject({ scrape_configs: [{ sample_limit: 60_000 }] });
});

test('the service is reached by labelled callers, its metrics by the namespace of Prometheus, Redis by the service', () => {
  const namespace = (name: string) => ({ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } } });
  expect(policies.recourse.policyTypes).toEqual(['Ingress', 'Egress']);
  expect(policies.recourse.ingress).toEqual([
    {
      from: [{ podSelector: { matchLabels: { 'recourse-client': 'true' } } }],
      ports: [{ protocol: 'TCP', port: 'http' }],
    },
    { from: [namespace('monitoring')], ports: [{ protocol: 'TCP', port: 'ops' }] },
  ]);
  expect(policies.redis.policyTypes).toEqual(['Ingress', 'Egress']);
  expect(policies.redis.ingress.map(({ ports }) => ports)).toEqual([[{ protocol: 'TCP', port: 'redis' }]]);
  expect(policies.redis.egress).toEqual([]);
});

const blocks = policies.recourse.egress.flatMap(({ to, ports }) =>
  to.flatMap(({ ipBlock }) => (ipBlock === undefined ? [] : [{ ...ipBlock, ports: ports.map(({ port }) => port) }])),
);
const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIPv6(address) ? 'ipv6' : 'ipv4');

const isWithin = (address: string, cidrs: readonly string[]): boolean => {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [network = '', prefix] = cidr.split('/');
    if (familyOf(network) === familyOf(address)) list.addSubnet(network, Number(prefix), familyOf(network));
  }
  return list.check(address, familyOf(address));
};
const isReached = (address: string): boolean =>
  blocks.some(({ cidr, except }) => isWithin(address, [cidr]) && !isWithin(address, except));

test.each([
  '169.254.169.254',
  '100.100.100.200',
  '10.0.0.1',
  '10.255.255.255',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '100.64.0.1',
  '127.0.0.1',
  '0.0.0.0',
  '192.0.0.192',
  '198.19.0.1',
  '224.0.0.1',
  '255.255.255.255',
  '::1',
  '::ffff:10.0.0.1',
  'fd00:ec2::254',
  'fe80::1',
  'ff02::1',
  '64:ff9b::a00:1',
  '2001::1',
  '2002:a00:1::1',
  '2001:db8::1',
])('no tool reaches %s', (address) => {
  expect(isReached(address)).toBe(false);
});

test.each(['1.1.1.1', '8.8.8.8', '93.184.215.14', '172.32.0.1', '2606:4700:4700::1111', '2a00:1450:4001::8a'])(
  'fetch_url reaches %s',
  (address) => {
    expect(isReached(address)).toBe(true);
  },
);

test('addresses are reached on the ports of the web alone, and what is excepted lies within its block', () => {
  expect(blocks.map(({ ports }) => ports)).toEqual([
    [80, 443],
    [80, 443],
  ]);
  for (const { cidr, except } of blocks) {
    expect(except.filter((inner) => !isWithin(inner.replace(/\/.*/, ''), [cidr]))).toEqual([]);
  }
});

test('beyond that it finds names, its Redis, and a collector of traces', () => {
  const others = policies.recourse.egress.filter(({ to }) => to.every(({ ipBlock }) => ipBlock === undefined));
  expect(others.map(({ ports }) => ports.map(({ protocol, port }) => `${protocol} ${port}`))).toEqual([
    ['UDP 53', 'TCP 53'],
    ['TCP 6379'],
    ['TCP 4318'],
  ]);
  expect(podsOf(others[1]?.to[0]?.podSelector?.matchLabels ?? {})).toEqual(['redis']);
});
