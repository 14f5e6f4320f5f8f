import { renameSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { startProcess } from '@recourse/test-support/start-process.ts';
import { callService } from '@recourse/test-support/start-service.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { loadConfig } from '../../src/config/settings/config.ts';
import { containerOf, Settings } from './kubernetes-pods-lab.ts';
import { readManifest, renderDeployment } from './read-manifests.ts';

const Mount = z.object({ name: z.string(), mountPath: z.string(), readOnly: z.boolean().default(false) });
const FromMap = z.object({ configMapKeyRef: z.object({ name: z.string(), key: z.string() }) });
const Container = z.looseObject({
  name: z.string(),
  args: z.array(z.string()).default([]),
  restartPolicy: z.string().optional(),
  securityContext: z.unknown(),
  volumeMounts: z.array(Mount),
  env: z.array(z.object({ name: z.string(), value: z.string().optional(), valueFrom: FromMap.optional() })).default([]),
});
const Rendered = z.object({
  spec: z.object({
    template: z.object({
      spec: z.object({
        initContainers: z.array(Container).default([]),
        containers: z.tuple([Container]),
        volumes: z.array(z.looseObject({ name: z.string() })),
      }),
    }),
  }),
});

const podWith = (path: string, components: readonly string[]) => {
  const { containers, ...pod } = Rendered.parse(renderDeployment(path, components)).spec.template.spec;
  return { ...pod, service: containers[0], filler: pod.initContainers[0] };
};

const gitSync = readManifest('tools-git-sync/config-map.example.yaml', 'ConfigMap', 'recourse-git-sync', Settings).data;

/** A variable of the service, also where the example of a ConfigMap has it. */
const variableOf = ({ service }: ReturnType<typeof podWith>, name: string): string => {
  const variable = service.env.find((each) => each.name === name);
  return variable?.value ?? gitSync[variable?.valueFrom?.configMapKeyRef.key ?? ''] ?? '';
};

const WORKLOADS = ['deployment.yaml', 'workers/deployment.yaml'];
const FILLED = [
  ['tools-image', 'TOOLS_DIR', '/tools'],
  ['tools-git-sync', 'TOOLS_DIR', '/git/root/current/tools'],
  ['config-file', 'CONFIG_FILE', '/etc/recourse/config/recourse.config.yaml'],
] as const;

test.each(FILLED)(
  '%s puts %s where the services and the workers read it, and neither may write it',
  (component, name, value) => {
    for (const path of WORKLOADS) {
      const pod = podWith(path, [component]);
      expect(variableOf(pod, name)).toBe(value);
      const mount = pod.service.volumeMounts.find(({ mountPath }) => `${value}/`.startsWith(`${mountPath}/`));
      expect(mount).toMatchObject({ readOnly: true });
      expect(pod.volumes.map((volume) => volume.name)).toContain(mount?.name);
      // As docs/access.md says: a file that a model can write must not decide what the service does.
      expect(value.startsWith('/workspace')).toBe(false);
      const own = Object.fromEntries(pod.service.env.flatMap((each) => (each.value ? [[each.name, each.value]] : [])));
      const loaded = loadConfig({ REDIS_URL: 'redis://recourse-redis:6379', ...own, [name]: value });
      expect('mistakes' in loaded ? loaded.mistakes : []).toEqual([]);
    }
  },
);

test.each(['tools-image', 'tools-git-sync'])(
  'what fills the directory of %s does so before the service starts, as restricted as it',
  (component) => {
    const { filler, service, initContainers } = podWith('deployment.yaml', [component]);
    expect(initContainers).toHaveLength(1);
    expect(filler?.securityContext).toEqual(containerOf('recourse').securityContext);
    const shared = filler?.volumeMounts.find(({ name }) => service.volumeMounts.some((mount) => mount.name === name));
    expect(shared).toMatchObject({ readOnly: false });
    expect(service.env).toContainEqual({ name: 'TOOLS_REQUIRED', value: 'all' });
  },
);

test('git-sync goes on beside the service, and makes the link that TOOLS_DIR leads through', () => {
  const { filler } = podWith('deployment.yaml', ['tools-git-sync']);
  expect(filler).toMatchObject({ name: 'git-sync', restartPolicy: 'Always' });
  const options = new Map(filler?.args.map((word) => [word.split('=')[0], word.split('=')[1]]));
  const link = join(options.get('--root') ?? '', options.get('--link') ?? '');
  expect(dirname(gitSync['TOOLS_DIR'] ?? '')).toBe(link);
});

test('the example of a configuration file starts its program, and a change arrives through the links of a ConfigMap', async () => {
  const { data } = readManifest('config-file/config-map.example.yaml', 'ConfigMap', 'recourse-config-file', Settings);
  const { root, write } = makeDirectory({ 'workspace/note.md': 'hello' });
  // As the kubelet does it: a folder a version, and a link to the newest, which is renamed into its place.
  const publish = (version: string, text: string): void => {
    write(`config/..${version}/recourse.config.yaml`, text.replaceAll('/workspace', join(root, 'workspace')));
    symlinkSync(`..${version}`, join(root, 'config/..data_tmp'));
    renameSync(join(root, 'config/..data_tmp'), join(root, 'config/..data'));
  };
  const text = data['recourse.config.yaml'] ?? '';
  publish('1', text);
  symlinkSync('..data/recourse.config.yaml', join(root, 'config/recourse.config.yaml'));
  const running = await startProcess({
    by: 'node',
    environment: { CONFIG_FILE: join(root, 'config/recourse.config.yaml'), WORKSPACE_DIR: join(root, 'workspace') },
  });
  const read = { name: 'files_read_text_file', arguments: { path: join(root, 'workspace/note.md') } };
  expect(await callService(running.url, [read])).toMatchObject([{ success: true }]);
  publish('2', text.replace('retries: 1', 'enabled: false'));
  await running.logged('configuration file reloaded');
  expect(await callService(running.url, [read])).toMatchObject([{ error: { code: 'unknown_tool' } }]);
});
