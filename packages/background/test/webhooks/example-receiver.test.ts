import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { cleanEnvironment, ROOT } from '@recourse/test-support/start-process.ts';
import { watchOver } from '@recourse/test-support/watch-over.ts';
import {
  completed,
  createLab,
  DEADLINE,
  endpointAt,
  NEW_SECRET,
  OLD_SECRET,
} from '@recourse/test-support/webhook-lab.ts';
import { expect, onTestFinished, test, vi } from 'vitest';

/** The example in a process of its own, as its reader starts it. */
const startExample = async () => {
  const child = spawn('node', [join(ROOT, 'examples/webhooks/receiver.ts')], {
    env: cleanEnvironment({ WEBHOOK_SECRET: NEW_SECRET, PORT: '0' }),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  watchOver(child);
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => void lines.push(line));
  await vi.waitFor(() => expect(lines[0]).toContain('listening'), DEADLINE);
  const port = /"port":(\d+)/.exec(lines[0] ?? '')?.[1];
  return { url: `http://127.0.0.1:${port}/`, lines };
};

test('the example takes messages of its secret, each once, and refuses those of another', async () => {
  const { url, lines } = await startExample();
  const { webhooks, reports } = createLab({
    ops: endpointAt(url),
    rotating: endpointAt(url, { secret: [OLD_SECRET, NEW_SECRET] }),
    forged: endpointAt(url, { secret: [OLD_SECRET] }),
  });
  await webhooks.emit(completed());
  await webhooks.emit(completed({ endpoint: 'rotating' }));
  await webhooks.emit(completed({ endpoint: 'forged' }));
  await vi.waitFor(() => {
    const first = reports.filter(({ attempt }) => attempt === 1);
    expect(first.map(({ endpoint, reason }) => `${endpoint} ${reason}`).toSorted()).toEqual([
      'forged HTTP 401',
      'ops HTTP 204',
      'rotating HTTP 204',
    ]);
    expect(lines).toHaveLength(3);
  }, DEADLINE);
  expect(lines[1]).toContain('"type":"tool_call.completed"');
});
