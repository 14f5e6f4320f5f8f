import { rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createFolder, DEADLINE, Said, serverOf, startConfigLab } from '@recourse/test-support/config-lab.ts';
import { ROOT } from '@recourse/test-support/start-process.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test, vi } from 'vitest';

const TOKEN = 'kx3vQ81nUzT5mWp2';
const LAST_WORDS = `process.stderr.write('the token ' + process.env['SERVER_TOKEN'] + ' has expired\\n');process.exit(3);`;
const REASON = 'its process ended (exit code 3): the token [redacted] has expired';

/** A program of which the test says what it does when it is started next. */
const createProgram = async () => {
  const folder = await createFolder();
  const path = join(folder, 'server.ts');
  const failing = join(folder, 'failing.ts');
  await writeFile(failing, LAST_WORDS);
  const become = async (target: string): Promise<void> => {
    await rm(path, { force: true });
    await symlink(target, path);
  };
  return { path, heal: () => become(join(ROOT, 'test/support/named-server.ts')), fail: () => become(failing) };
};

test(
  'while an MCP server is dead all that tell of it say why, without its secret, and other tools work on',
  async () => {
    const program = await createProgram();
    await program.heal();
    const far = { command: process.execPath, args: [program.path, 'far', 'say'], env: { SERVER_TOKEN: TOKEN } };
    const { service, tools } = await startConfigLab({ mcpServers: { far } });
    const ready = async () => {
      const answer = await fetch(`${service.url}/ready`);
      return { status: answer.status, body: await answer.json() };
    };
    const call = async (name: string, given: Readonly<Record<string, string>> = {}) =>
      (await service.call([{ id: '1', name, arguments: given }]))[0];
    const isUp = () => service.metric('recourse_upstream_up{upstream="mcp:far"}');
    const { pid } = Said.parse((await call('far_say'))?.value);
    const upstream = { name: 'mcp:far', tools: 1 };
    expect((await ready()).body).toMatchObject({ upstreams: [{ ...upstream, status: 'up', reason: null }] });
    expect(await isUp()).toBe(1);

    await program.fail();
    process.kill(pid, 'SIGKILL');
    await vi.waitFor(async () => {
      const { status, body } = await ready();
      expect(status).toBe(200);
      expect(body).toMatchObject({ status: 'ready', upstreams: [{ ...upstream, status: 'down', reason: REASON }] });
    }, DEADLINE);
    expect(await isUp()).toBe(0);
    expect(JSON.stringify((await tools()).get('far_say'))).toContain(REASON);
    expect(await call('far_say')).toMatchObject({ success: false, error: { code: 'upstream_unavailable' } });
    expect(await call('echo', { text: 'still here' })).toMatchObject({ success: true });
    const logged = JSON.stringify(service.logLines());
    expect(logged).toContain('the token [redacted] has expired');
    expect(logged).not.toContain(TOKEN);

    await program.heal();
    // It is tried again every 30 s at the latest.
    await vi.waitFor(async () => expect(await isUp()).toBe(1), { ...DEADLINE, timeout: timeLimit(60_000) });
    expect((await ready()).body).toMatchObject({ upstreams: [{ ...upstream, status: 'up', reason: null }] });
    expect(JSON.stringify((await tools()).get('far_say'))).not.toContain('its process ended');
    expect(Said.parse((await call('far_say'))?.value).pid).not.toBe(pid);
    expect(await service.metric('recourse_upstream_reconnects_total{upstream="mcp:far"}')).toBe(1);
  },
  timeLimit(120_000),
);

test('a tool that changes together with the entry of its server is held: the reload does not forget how it was', async () => {
  const toConfig = (word: string) => ({ mcpServers: { far: serverOf(word, ['say'], { onChange: 'hold' }) } });
  const { service, change, tools } = await startConfigLab(toConfig('old'));
  const say = async () => (await service.call([{ id: '1', name: 'far_say', arguments: {} }]))[0];
  expect(Said.parse((await say())?.value).word).toBe('old');
  expect(await change(toConfig('new'))).toMatchObject({ changed: ['mcp:far'] });
  await vi.waitFor(
    async () =>
      expect((await tools()).get('far_say')?.unavailable_reason).toMatch(
        /^held: its description or its schema has changed; approve digest [0-9a-f]{32}$/,
      ),
    DEADLINE,
  );
  expect(await say()).toMatchObject({ success: false, executed: 'no' });
  expect(await service.metric('recourse_upstream_up{upstream="mcp:far"}')).toBe(1);
  // As it was first seen: nobody has to approve it.
  await change(toConfig('old'));
  await vi.waitFor(async () => expect(await say()).toMatchObject({ success: true, value: { word: 'old' } }), DEADLINE);
});
