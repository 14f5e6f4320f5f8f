import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { FROM_SOURCES } from '@recourse/test-support/node-flags.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const RUN = ['chaos/lost-replies/run.ts', '--payments', '50', '--client', 'reconcile'];

test('fifty payments whose replies are lost are each booked once, and known', {
  timeout: timeLimit(180_000),
}, async () => {
  const child = spawn(process.execPath, [...FROM_SOURCES, ...RUN], { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    // What it has started ends when it is gone.
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  const told: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => told.push(text));
  await once(child, 'close');
  const words = told.join('');
  expect(words).toMatch(/^\| reconcile \| 50 \| \d+ \| 50 \| 0 \| 0 \| 0 \| 0 \|/m);
  expect(child.exitCode, words).toBe(0);
});
