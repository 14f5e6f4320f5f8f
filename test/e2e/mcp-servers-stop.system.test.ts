import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isRunning, servers, until } from '@recourse/test-support/mcp-servers/mcp-lab.ts';
import { startProcess } from '@recourse/test-support/start-process.ts';
import { callService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';

// The default grace is 25 s: whoever ends before has not waited for a server that takes no notice.
const SOON_MS = timeLimit(20_000);

const endIfThere = async (pid: number): Promise<void> => {
  if (await isRunning(pid)) process.kill(pid, 'SIGKILL');
};

/** A service in a process of its own with one MCP server, and that server with what it has started. */
const startWithServer = async (start: 'plain' | 'stubborn') => {
  const folder = await mkdtemp(join(tmpdir(), 'recourse-stop-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, 'recourse.config.json');
  await writeFile(path, JSON.stringify({ mcpServers: { far: servers.scripted(start) } }));
  const running = await startProcess({ by: 'node', environment: { CONFIG_FILE: path } });
  const call = (name: string) => callService(running.url, [{ id: '1', name, arguments: {} }]);
  // It may be late on a machine that is busy.
  const server = await until(async () => {
    const [result] = await call('far_pid');
    expect(result?.success).toBe(true);
    return Number(result?.value);
  });
  onTestFinished(() => endIfThere(server));
  const [begotten] = await call('far_grandchild');
  const grandchild = Number(begotten?.value);
  onTestFinished(() => endIfThere(grandchild));
  expect(await Promise.all([server, grandchild].map(isRunning))).toEqual([true, true]);
  return { running, call, server, grandchild };
};

const allGone = (pids: readonly number[]): Promise<void> =>
  until(async () => expect(await Promise.all(pids.map(isRunning))).toEqual(pids.map(() => false)));

test('a SIGTERM ends the service within its grace, and an MCP server that takes no notice with all it has started', async () => {
  const { running, server, grandchild } = await startWithServer('stubborn');
  const askedAt = performance.now();
  running.send('SIGTERM', 'service');
  expect(await running.exited).toEqual({ code: 0, signal: null });
  expect(performance.now() - askedAt).toBeLessThan(SOON_MS);
  await allGone([server, grandchild]);
});

test('a second SIGTERM ends both at once, also while a call of the server runs', async () => {
  const { running, call, server, grandchild } = await startWithServer('stubborn');
  const lost = Promise.allSettled([call('far_wait')]);
  await until(async () =>
    expect(await (await fetch(`${running.url}/metrics`)).text()).toContain(
      'recourse_calls_in_flight{pool="inline"} 1\n',
    ),
  );
  running.send('SIGTERM', 'service');
  await running.logged('draining');
  const drainingSince = performance.now();
  // One that follows at once counts as the first one, handed on by npm: repeated until it is taken for a second.
  const again = setInterval(() => running.send('SIGTERM', 'service'), 50);
  const exit = await running.exited;
  clearInterval(again);
  expect(exit).toEqual({ code: 1, signal: null });
  expect(performance.now() - drainingSince).toBeLessThan(SOON_MS);
  await allGone([server, grandchild]);
  await lost;
});

test('when the service is killed, an MCP server ends with the end of its input', async () => {
  const { running, server } = await startWithServer('plain');
  running.send('SIGKILL', 'service');
  expect(await running.exited).toEqual({ code: null, signal: 'SIGKILL' });
  await allGone([server]);
});
