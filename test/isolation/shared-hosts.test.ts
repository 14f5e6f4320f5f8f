import { expect, test } from 'vitest';
import { openLab, toOutcome, toolFile } from './isolation-lab.ts';

const FILE = toolFile({ pid: 'await wait(input.ms ?? 0); return process.pid;' });

test('two files have their turns in one process', async () => {
  const { load, hostCount } = openLab({ maxHosts: 1, minHosts: 1 });
  const [a, b] = [await load(FILE, 'a.ts'), await load(FILE, 'b.ts')];
  const pids: unknown[] = [];
  for (let n = 0; n < 3; n += 1) for (const file of [a, b]) pids.push(toOutcome(await file.call('pid')));
  expect(new Set(pids).size).toBe(1);
  expect(typeof pids[0]).toBe('number');
  expect(hostCount()).toBe(1);
});

test('ten calls of one file run side by side in one process', async () => {
  const { load } = openLab({ maxHosts: 1, minHosts: 1 });
  const { call } = await load(FILE);
  await call('pid');
  const startedAt = performance.now();
  const pids = await Promise.all(Array.from({ length: 10 }, () => call('pid', { ms: 300 }).then(toOutcome)));
  expect(performance.now() - startedAt).toBeLessThan(900);
  expect(new Set(pids).size).toBe(1);
});
