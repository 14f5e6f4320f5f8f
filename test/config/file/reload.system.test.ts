import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  CHANGED_WRONGLY,
  createFolder,
  DEADLINE,
  READ_AGAIN,
  Said,
  serverOf,
  startConfigLab,
} from '@recourse/test-support/config-lab.ts';
import { startService } from '@recourse/test-support/start-service.ts';
import { expect, test, vi } from 'vitest';

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch (_gone) {
    return false;
  }
};

test('a change is applied by what differs: one server goes on, one is started anew, one comes and one goes', async () => {
  const same = serverOf('same', ['say']);
  const { service, change, tools } = await startConfigLab({
    mcpServers: { same, other: serverOf('old', ['say']), gone: serverOf('gone', ['say']) },
  });
  const say = async (tool: string) => {
    const [result] = await service.call([{ id: '1', name: tool, arguments: {} }]);
    return Said.parse(result?.value);
  };
  const before = { same: await say('same_say'), other: await say('other_say'), gone: await say('gone_say') };
  const line = await change({
    mcpServers: { fresh: serverOf('fresh', ['say']), other: serverOf('new', ['say']), same },
  });
  expect(line).toMatchObject({ added: ['mcp:fresh'], changed: ['mcp:other'], removed: ['mcp:gone'] });
  await vi.waitFor(async () => expect((await say('other_say')).word).toBe('new'), DEADLINE);
  await vi.waitFor(async () => expect((await say('fresh_say')).word).toBe('fresh'), DEADLINE);
  expect((await say('same_say')).pid).toBe(before.same.pid);
  expect((await tools()).has('gone_say')).toBe(false);
  await vi.waitFor(() => expect([before.other.pid, before.gone.pid].filter(isAlive)).toEqual([]), DEADLINE);
});

test('a call that runs when its server goes is answered by it, and then the server ends', async () => {
  const { service, change } = await startConfigLab({ mcpServers: { gone: serverOf('gone', ['say']) } });
  const call = service.call([{ id: '1', name: 'gone_say', arguments: { wait_ms: 3000 } }]);
  await vi.waitFor(
    async () => expect(await service.metric('recourse_calls_in_flight{pool="inline"}')).toBe(1),
    DEADLINE,
  );
  await change({});
  const [refused] = await service.call([{ id: '2', name: 'gone_say', arguments: {} }]);
  expect(refused?.error?.code).toBe('unknown_tool');
  const [answered] = await call;
  const said = Said.parse(answered?.value);
  expect(said.word).toBe('gone');
  await vi.waitFor(() => expect(isAlive(said.pid)).toBe(false), DEADLINE);
});

test('a broken change is logged with its mistakes and changes nothing, and so do a half-written file and none', async () => {
  const { service, path, write, change, tools, linesOf } = await startConfigLab({
    tools: { echo: { timeoutMs: 777 } },
  });
  const timeoutOfEcho = async () => (await tools()).get('echo')?.limits.timeout_ms;
  const line = await change({ tools: { echo: { timeoutMs: 'soon' }, fetch_url: { retires: 1 } } }, CHANGED_WRONGLY);
  expect(line['mistakes']).toEqual([
    `CONFIG_FILE ${path} line 1, column 19: tools.echo.timeoutMs: Invalid input: expected number, received string`,
    `CONFIG_FILE ${path} line 1, column 52: tools.fetch_url.retires: is unknown here: did you mean 'retries'?`,
  ]);
  expect(await timeoutOfEcho()).toBe(777);
  await change('{"tools": {"echo": {"timeoutMs": 5', CHANGED_WRONGLY);
  expect(await timeoutOfEcho()).toBe(777);
  const empty = await change('', CHANGED_WRONGLY);
  expect(empty['mistakes']).toEqual([`CONFIG_FILE ${path}: is empty: write {} for an empty configuration`]);
  expect(await timeoutOfEcho()).toBe(777);
  await rm(path);
  await vi.waitFor(() => expect(JSON.stringify(linesOf(CHANGED_WRONGLY))).toContain('cannot be read: '), DEADLINE);
  expect(await timeoutOfEcho()).toBe(777);
  await write({ tools: { echo: { timeoutMs: 888 } } });
  await vi.waitFor(async () => expect(await timeoutOfEcho()).toBe(888), DEADLINE);
  expect(service.logLines().filter(({ msg }) => msg === READ_AGAIN)).toHaveLength(1);
});

test('a file behind links that are swapped, as Kubernetes does with a ConfigMap, is read again', async () => {
  const folder = await createFolder();
  const writeVersion = async (name: string, timeoutMs: number): Promise<void> => {
    await mkdir(join(folder, name));
    await writeFile(join(folder, name, 'recourse.config.yaml'), `tools: { echo: { timeoutMs: ${timeoutMs} } }`);
    await symlink(name, join(folder, 'next'));
    await rename(join(folder, 'next'), join(folder, '..data'));
  };
  await writeVersion('..1', 111);
  await symlink('..data/recourse.config.yaml', join(folder, 'recourse.config.yaml'));
  const service = await startService({ CONFIG_FILE: join(folder, 'recourse.config.yaml') });
  try {
    await writeVersion('..2', 222);
    const read = async () => (await fetch(`${service.url}/tools`)).text();
    await vi.waitFor(async () => expect(await read()).toContain('"timeout_ms":222'), DEADLINE);
  } finally {
    await service.stop();
  }
});

test('secrets that come with a change are redacted before anything of the change is used', async () => {
  const token = 'kx3vQ81nUzT5mWp2';
  const header = 'hz7wR42pYbL9cXq6';
  const { service, change, tools } = await startConfigLab({});
  // Not the answer: what a caller sends comes back to it.
  let sessions = 0;
  const said = async (text: string): Promise<string> => {
    sessions += 1;
    const session_id = `s_${sessions}`;
    await service.call([{ id: '1', name: 'echo', arguments: { text } }], { session_id });
    return (await fetch(`${service.url}/sessions/${session_id}`)).text();
  };
  expect(await said(token)).toContain(token);
  await change({
    mcpServers: {
      far: serverOf('far', ['say'], { env: { SERVER_TOKEN: token } }),
      away: { url: 'http://127.0.0.1:9/mcp', headers: { 'X-Session': header, Authorization: `Bearer ${header}2` } },
    },
  });
  expect(await said(token)).not.toContain(token);
  expect(await said(`${header} ${header}2`)).not.toContain(header);
  await vi.waitFor(async () => expect((await tools()).get('far_say')?.available).toBe(true), DEADLINE);
  const [result] = await service.call([{ id: '1', name: 'far_say', arguments: {} }]);
  expect(result?.value).toMatchObject({ word: 'far', token: '[redacted]' });
  await change({});
  expect(await said(token)).not.toContain(token);
  expect(JSON.stringify(service.logLines())).not.toContain(token);
  expect(JSON.stringify(service.logLines())).not.toContain(header);
});
