import * as z from 'zod';
import { readManifest } from './read-manifests.ts';

const Context = z.looseObject({ seccompProfile: z.unknown(), runAsNonRoot: z.unknown() });

// Strict: nothing of the host (hostNetwork, hostPID, …) and no other container comes in unseen.
const Pod = z.strictObject({
  serviceAccountName: z.string().optional(),
  automountServiceAccountToken: z.literal(false),
  enableServiceLinks: z.literal(false),
  terminationGracePeriodSeconds: z.number(),
  securityContext: Context,
  containers: z
    .array(
      z.looseObject({
        image: z.string(),
        securityContext: Context,
        resources: z.object({
          requests: z.record(z.string(), z.string()),
          limits: z.record(z.string(), z.string()),
        }),
        ports: z.array(z.object({ name: z.string(), containerPort: z.number() })),
        volumeMounts: z.array(
          z.object({ name: z.string(), mountPath: z.string(), readOnly: z.boolean().optional() }).strict(),
        ),
        command: z.array(z.string()).default([]),
        args: z.array(z.string()).default([]),
        env: z
          .array(z.object({ name: z.string(), value: z.string().default(''), valueFrom: z.unknown().optional() }))
          .default([]),
      }),
    )
    .length(1),
  volumes: z.array(z.looseObject({ name: z.string() })).default([]),
  topologySpreadConstraints: z.unknown().optional(),
});

const Workload = z.object({
  spec: z.looseObject({ replicas: z.number().optional(), template: z.object({ spec: Pod }) }),
});

export const workloads = {
  recourse: readManifest('deployment.yaml', 'Deployment', 'recourse', Workload),
  worker: readManifest('workers/deployment.yaml', 'Deployment', 'recourse-worker', Workload),
  redis: readManifest('redis/stateful-set.yaml', 'StatefulSet', 'recourse-redis', Workload),
};

export const podOf = (workload: keyof typeof workloads) => workloads[workload].spec.template.spec;

export const containerOf = (workload: keyof typeof workloads) => {
  const [container] = podOf(workload).containers;
  if (container === undefined) throw new Error(`The pod of ${workload} has no container.`);
  return container;
};

/** What the Secret of Redis gives the service, by the command in redis/kustomization.yaml. */
export const OF_REDIS_SECRET: Readonly<Record<string, string>> = {
  REDIS_URL: 'redis://:secret@recourse-redis:6379',
};

export const Settings = z.object({ data: z.record(z.string(), z.string()) });
