import { readdirSync } from 'node:fs';
import { openLab, toOutcome, toolFile } from '@recourse/test-support/isolation-lab.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';

const FILE = toolFile({ twice: 'return input.n * 2;' });

const countDescriptors = (): number => readdirSync('/proc/self/fd').length;
const usedMiB = (): number => process.memoryUsage().heapUsed / 1_048_576;

test('ten thousand short calls through recycled hosts leave no descriptor, listener or memory behind', async () => {
  const warnings: string[] = [];
  const onWarning = ({ message }: Error): void => void warnings.push(message);
  process.on('warning', onWarning);
  const { load, isolation, hostCount, ended } = openLab({ minHosts: 2, maxHosts: 2, maxCalls: 2000 });
  const { call } = await load(FILE);
  const callMany = async (count: number): Promise<void> => {
    const callOn = async (first: number): Promise<void> => {
      for (let n = first; n < count; n += 4) expect(toOutcome(await call('twice', { n }))).toBe(n * 2);
    };
    await Promise.all([0, 1, 2, 3].map(callOn));
    await expect.poll(() => isolation.count('idle'), { timeout: timeLimit(15_000) }).toBe(2);
  };
  await callMany(1000);
  const before = { descriptors: countDescriptors(), usedMiB: usedMiB() };
  await callMany(10_000);
  expect(ended.length).toBeGreaterThanOrEqual(3);
  expect(hostCount()).toBe(2);
  expect(countDescriptors()).toBeLessThanOrEqual(before.descriptors + 5);
  expect(usedMiB() - before.usedMiB).toBeLessThan(60);
  process.off('warning', onWarning);
  // Node warns of an emitter that gathers listeners.
  expect(warnings).toEqual([]);
});
