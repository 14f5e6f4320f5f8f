import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import { cleanEnvironment, ROOT } from '#test/support/start-process.ts';

/** A service that listens, and whose stdout nobody reads from then on. */
const startUnread = async (): Promise<ChildProcessByStdio<null, Readable, null>> => {
  const child = spawn('node', ['src/main.ts'], {
    cwd: ROOT,
    env: cleanEnvironment({ PORT: '0', SHUTDOWN_GRACE_MS: '100' }),
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const heard = { text: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    heard.text += text;
  });
  await expect.poll(() => heard.text, { timeout: 20_000 }).toContain('"listening"');
  child.stdout.destroy();
  await once(child.stdout, 'close');
  return child;
};

test('a service whose log nobody reads any more ends on SIGTERM all the same', async () => {
  const child = await startUnread();
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([0, null]);
});

test('it ends as well where it exits with lines that were not written yet', async () => {
  const child = await startUnread();
  child.kill('SIGTERM');
  child.kill('SIGINT');
  const [code] = await once(child, 'exit');
  expect(code).toBe(0);
});
