import { expect, test } from 'vitest';
import { openLab, toOutcome, toolFile } from './isolation-lab.ts';

const FILE = toolFile({ pid: 'await wait(input.ms ?? 0); return process.pid;' });

test('two hundred calls at once grow to the most hosts there may be and never beyond, and all are answered', async () => {
  const { load, hostCount, isolation } = openLab({ maxHosts: 6, minHosts: 1 });
  const { call } = await load(FILE);
  let most = 0;
  let busy = 0;
  const watching = setInterval(() => {
    most = Math.max(most, hostCount());
    busy = Math.max(busy, isolation.count('busy'));
  }, 1);
  const pids = await Promise.all(Array.from({ length: 200 }, () => call('pid', { ms: 30 }).then(toOutcome)));
  clearInterval(watching);
  expect(pids.filter((pid) => typeof pid === 'number')).toHaveLength(200);
  expect(most).toBe(6);
  expect(busy).toBe(6);
});
