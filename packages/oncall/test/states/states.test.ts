import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Overview } from '@recourse/oncall/contract/contract';
import { askAs, toKeyEntry } from '@recourse/test-support/access-client.ts';
import { createFolder, DEADLINE } from '@recourse/test-support/config-lab.ts';
import { createKeyedClient } from '@recourse/test-support/keyed-client.ts';
import { startService } from '@recourse/test-support/start-service.ts';
import { defineTool } from 'recourse-server/tools/define-tool';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';

const PERSON = 'person-key-0123456789abcdef';
const READER = 'reader-key-0123456789abcdef';
const LIMITED = 'limited-key-0123456789abcdef';
const STRANGER = 'stranger-key-0123456789abcdef';
const API_KEYS = [
  toKeyEntry('acme', PERSON, 'name=ann may=call|read|operate'),
  toKeyEntry('acme', READER, 'name=reader'),
  toKeyEntry('acme', LIMITED, 'name=limited may=call|read|operate tools=other|quiet'),
  toKeyEntry('globex', STRANGER, 'name=stranger'),
].join(',');
const SECRET = 'hunter2-hunter2-hunter2';

const failing = defineTool({
  name: 'search',
  description: 'Talks to something.',
  input: z.object({}),
  effects: 'read',
  retries: 0,
  run: async () => {
    throw new Error(`connection refused with ${SECRET}`);
  },
});

const start = async (environment: Readonly<Record<string, string>> = {}) => {
  const settings = { CIRCUIT_FAILURES: '2', CIRCUIT_OPEN_MS: '600000', API_KEYS, UPSTREAM_TOKEN: SECRET };
  const service = await startService({ ...settings, SECRET_ENV: 'UPSTREAM_TOKEN', ...environment }, [failing]);
  onTestFinished(() => service.stop());
  const { post } = createKeyedClient(service.url);
  return {
    service,
    call: async (name: string, apiKey = READER, input: object = {}) =>
      (await post({ calls: [{ name, arguments: input }] }, { apiKey })).results[0],
    overview: async (key = PERSON) => {
      const { text } = await askAs(service, key, '/overview');
      return Overview.parse(JSON.parse(text));
    },
  };
};

test('an open circuit is shown to keys that may use its tool, and its failure to the tenant that had it', async () => {
  const { call, overview } = await start();
  for (let batch = 0; batch < 2; batch += 1) await call('search');
  const [circuit, ...more] = (await overview()).circuits;
  expect(more).toEqual([]);
  expect(circuit).toMatchObject({
    ...{
      name: 'search',
      kind: 'tool',
      tools: ['search'],
      state: 'open',
      replicas: [expect.stringMatching(/^\S+:\d+$/)],
    },
    failure: { tool: 'search', code: 'tool_exception', message: expect.stringContaining('connection refused') },
  });
  expect(Date.parse(circuit?.open_until ?? '') - Date.parse(circuit?.opened_at ?? '')).toBe(600_000);
  expect(JSON.stringify(circuit)).not.toContain(SECRET);
  expect((await overview(STRANGER)).circuits).toMatchObject([{ name: 'search', failure: null }]);
  expect((await overview(LIMITED)).circuits).toEqual([]);
});

const fileOf = (name: string, run: string) => `
import { defineTool } from 'recourse-server';
export const ${name} = defineTool({
  name: '${name}', description: '', effects: 'read', retries: 0,
  input: { type: 'object', additionalProperties: true },
  run: ${run},
});
`;

test('a file that does not load is shown to keys that may use every tool, and whether an older version serves', async () => {
  const directory = await createFolder();
  await writeFile(join(directory, 'broken.ts'), 'export const = 1;');
  await writeFile(join(directory, 'quiet.ts'), fileOf('quiet', '() => 1'));
  const { overview } = await start({ TOOLS_DIR: directory });
  const fresh = await overview();
  expect(fresh.files).toMatchObject([{ file: 'broken.ts', older_version_serves: false, tools: [] }]);
  expect(fresh.files[0]?.message).toContain('Syntax error');
  await writeFile(join(directory, 'quiet.ts'), 'throw new Error("not today");');
  await expect
    .poll(async () => (await overview()).files, DEADLINE)
    .toMatchObject([
      { file: 'broken.ts' },
      { file: 'quiet.ts', older_version_serves: true, tools: ['quiet'], message: expect.stringContaining('not today') },
    ]);
  expect((await overview(LIMITED)).files).toEqual([]);
});

test('processes that had to be replaced are shown by reason, with their last words for keys that may operate', async () => {
  const directory = await createFolder();
  const crash = `() => { console.error('held ${SECRET} at the end'); process.kill(process.pid, 'SIGKILL'); }`;
  await writeFile(join(directory, 'crash.ts'), fileOf('crash', crash));
  await writeFile(join(directory, 'quiet.ts'), fileOf('quiet', '() => 1'));
  const { call, overview } = await start({ TOOLS_DIR: directory });
  for (let batch = 0; batch < 2; batch += 1) expect((await call('crash'))?.error?.code).toBe('tool_crashed');
  expect(await call('quiet')).toMatchObject({ success: true });
  const hostsOf = async (key: string) => (await overview(key)).hosts;
  // The service learns of the end of a process after it has answered.
  await expect
    .poll(async () => (await hostsOf(PERSON)).find(({ file }) => file === 'crash.ts')?.restarts, DEADLINE)
    .toBe(2);
  const crashing = (await hostsOf(PERSON)).find(({ file }) => file === 'crash.ts');
  expect(crashing).toMatchObject({
    ...{ files: 1, restarts: 2, restarts_by: { crash: 2 }, last_restart_at: expect.any(String) },
    last_words: expect.stringMatching(/^held (?!hunter).+ at the end$/),
  });
  expect(crashing?.limit_bytes).toBeGreaterThan(1_000_000);
  const quiet = (await hostsOf(PERSON)).find(({ file }) => file === 'quiet.ts');
  expect(quiet).toMatchObject({ restarts: 0, restarts_by: {}, last_restart_at: null, last_words: '' });
  expect(quiet?.memory_bytes).toBeGreaterThan(1_000_000);
  expect((await hostsOf(READER)).find(({ file }) => file === 'crash.ts')).toMatchObject({
    restarts: 2,
    last_words: '',
  });
  expect((await hostsOf(LIMITED)).map(({ file }) => file)).toEqual(['quiet.ts']);
});

test('what is wrong with settings and files is a warning that says what to do', async () => {
  const folder = await createFolder();
  const path = join(folder, 'recourse.config.json');
  await writeFile(path, '{}');
  const { overview } = await start({ CONFIG_FILE: path, TOOLS_REQUIRED: 'secret_tool' });
  const missing = { code: 'tools_missing', message: expect.stringContaining('secret_tool') };
  expect((await overview()).warnings).toMatchObject([missing]);
  await writeFile(path, '{ "mcpServers": 5 }');
  await expect
    .poll(async () => (await overview()).warnings, DEADLINE)
    .toMatchObject([{ code: 'config_file_stale', message: expect.stringContaining('mcpServers') }, missing]);
  // What it may not use, nobody tells it of.
  expect((await overview(LIMITED)).warnings).toMatchObject([
    { code: 'config_file_stale', message: expect.not.stringContaining('mcpServers') },
  ]);
});

test('this process, its store and its lanes are shown', async () => {
  const { overview } = await start();
  const { replicas, store, lanes } = await overview();
  expect(replicas).toMatchObject([
    { role: 'service', version: expect.any(String), is_silent: false, calls_in_flight: 0, calls_queued: 0 },
  ]);
  expect(replicas[0]?.heap_bytes).toBeGreaterThan(1_000_000);
  expect(store).toEqual({ kind: 'memory', status: 'up', used_bytes: null, max_bytes: null });
  expect(lanes).toEqual([{ lane: 'default', queued: 0, running: 0, oldest_ms: null, workers: 1 }]);
});
