// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of the file are written so.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createFolder, serverOf } from '@recourse/test-support/config-lab.ts';
import { runToEnd, startProcess } from '@recourse/test-support/start-process.ts';
import { expect, onTestFinished, test } from 'vitest';
import { findConfigFile, readConfigFile } from '#src/config/file/read-config-file.ts';

const linesOf = (stderr: string): readonly string[] =>
  stderr.split('\n').filter((line) => line.startsWith('recourse: '));

test('mistakes of the configuration file stand in one list with those of the settings, and nothing listens', async () => {
  const path = join(await createFolder(), 'c.yaml');
  await writeFile(path, 'tools:\n  echo:\n    timeoutms: 5\nmcpServers:\n  a:\n    url: ${NOT_SET_HERE}\n');
  const environment = { CONFIG_FILE: path, BATCH_CONCURRENCY: 'many', TOOLS_DIR: '/not/there' };
  const { code, stdout, stderr } = await runToEnd({ by: 'node', environment });
  expect(code).toBe(1);
  expect(stdout).toBe('');
  const [first, second, ...rest] = linesOf(stderr);
  expect(first).toContain('BATCH_CONCURRENCY');
  expect(second).toContain('TOOLS_DIR');
  expect(rest).toEqual([
    `recourse: CONFIG_FILE ${path} line 6, column 5: mcpServers.a.url: needs the environment variable NOT_SET_HERE, which is not set`,
    `recourse: CONFIG_FILE ${path} line 3, column 5: tools.echo.timeoutms: is unknown here: did you mean 'timeoutMs'?`,
  ]);
});

test('a configuration file that is named and not there is a mistake', async () => {
  const path = join(await createFolder(), 'none.yaml');
  const { code, stderr } = await runToEnd({ by: 'node', environment: { CONFIG_FILE: path } });
  expect(code).toBe(1);
  expect(linesOf(stderr)).toEqual([`recourse: CONFIG_FILE ${path} cannot be read: it does not exist`]);
});

test('a service listens although a server cannot be started and another is not there', async () => {
  const path = join(await createFolder(), 'c.json');
  const mcpServers = {
    nothing: { command: '/not/there/at/all' },
    away: { url: 'http://127.0.0.1:9/mcp' },
    far: serverOf('far', ['say']),
  };
  await writeFile(path, JSON.stringify({ mcpServers }));
  const service = await startProcess({ by: 'node', environment: { CONFIG_FILE: path } });
  const answer = await fetch(`${service.url}/tool-calls`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ calls: [{ id: '1', name: 'far_say', arguments: {} }] }),
  });
  expect(await answer.text()).toContain('"word":"far"');
  service.send('SIGTERM', 'service');
  expect(await service.exited).toEqual({ code: 0, signal: null });
});

test('without a name the first of the standard files in the working directory is read, and none where there is none', async () => {
  const folder = await createFolder();
  expect(await findConfigFile(undefined, folder)).toBeNull();
  await writeFile(join(folder, 'recourse.config.json'), '{}');
  expect(await findConfigFile(undefined, folder)).toBe(join(folder, 'recourse.config.json'));
  await writeFile(join(folder, 'recourse.config.yml'), '');
  expect(await findConfigFile(undefined, folder)).toBe(join(folder, 'recourse.config.yml'));
  await writeFile(join(folder, 'recourse.config.yaml'), '');
  expect(await findConfigFile(undefined, folder)).toBe(join(folder, 'recourse.config.yaml'));
  expect(await findConfigFile('other.yaml', folder)).toBe(join(folder, 'other.yaml'));
});

test('what is no file, or far too large for one, is not read', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'recourse-config-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, 'large'), Buffer.alloc(1024 * 1024 + 1));
  expect(await readConfigFile(folder)).toEqual({ ok: false, problem: 'it is not a regular file' });
  expect(await readConfigFile('/dev/zero')).toEqual({ ok: false, problem: 'it is not a regular file' });
  expect(await readConfigFile(join(folder, 'large'))).toEqual({ ok: false, problem: 'it is larger than 1 MiB' });
});
