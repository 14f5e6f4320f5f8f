import { expect, test } from 'vitest';
import { makeDirectory } from '#test/tools/directory/temporary-directory.ts';
import { openLab, toOutcome, toolFile } from './isolation-lab.ts';

const FOREVER = { timeout: 15_000 };

const FILE = toolFile({ pid: 'await wait(input.ms ?? 0); return process.pid;' });

/** Gives its process id once as many processes have been called as `hosts` says. */
const crowdFile = (desk: string, hosts: number): string =>
  toolFile(
    {
      meet: `
        writeFileSync('${desk}/' + process.pid, '');
        while (readdirSync('${desk}').length < ${hosts}) await wait(5);
        return process.pid;
      `,
    },
    "import { readdirSync } from 'node:fs';",
  );

test('two hundred calls at once grow to the most hosts there may be and never beyond, and all are answered', async () => {
  const { load, hostCount } = openLab({ maxHosts: 6, minHosts: 1 });
  const { call } = await load(crowdFile(makeDirectory().root, 6));
  let most = 0;
  const watching = setInterval(() => {
    most = Math.max(most, hostCount());
  }, 1);
  const pids = await Promise.all(Array.from({ length: 200 }, () => call('meet').then(toOutcome)));
  clearInterval(watching);
  expect(pids.filter((pid) => typeof pid === 'number')).toHaveLength(200);
  expect(new Set(pids).size).toBe(6);
  expect(most).toBe(6);
});

test('hosts that nobody used for 30 s end, but for those to be kept warm', async () => {
  let passedMs = 0;
  const { load, isolation, ended, processes } = openLab({
    minHosts: 1,
    maxHosts: 3,
    now: () => performance.now() + passedMs,
  });
  const { call } = await load(FILE);
  await Promise.all([1, 2, 3].map(() => call('pid', { ms: 1500 })));
  await expect.poll(() => isolation.count('idle'), FOREVER).toBe(3);
  expect(ended).toEqual([]);
  passedMs = 30_001;
  await expect.poll(() => ended.length, FOREVER).toBe(2);
  expect(processes.hosts()).toHaveLength(1);
  expect(ended.map(({ restart, death }) => [restart, death.killedFor])).toEqual([
    [null, 'surplus'],
    [null, 'surplus'],
  ]);
});

test('when the pool is full an idle host of another file makes way, and every call is answered', async () => {
  const { load, hostCount } = openLab({ minHosts: 2, maxHosts: 2 });
  const [a, b, c] = [await load(FILE, 'a.ts'), await load(FILE, 'b.ts'), await load(FILE, 'c.ts')];
  const calls = [a, b, c, a, b, c].map(({ call }) => call('pid', { ms: 20 }));
  const pids = (await Promise.all(calls)).map(toOutcome);
  expect(pids.filter((pid) => typeof pid === 'number')).toHaveLength(6);
  expect(hostCount()).toBeLessThanOrEqual(2);
});

test('a file waits for none but its own host: others that only start do not hold it up for ever', async () => {
  const { load, hostCount } = openLab({ minHosts: 0, maxHosts: 8 });
  const files = await Promise.all(['a.ts', 'b.ts', 'c.ts', 'd.ts', 'e.ts'].map((name) => load(FILE, name)));
  const calls = files.flatMap(({ call }) => [call('pid', { ms: 10 }), call('pid', { ms: 10 })]);
  const pids = (await Promise.all(calls)).map(toOutcome);
  expect(pids.filter((pid) => typeof pid === 'number')).toHaveLength(10);
  expect(hostCount()).toBeLessThanOrEqual(8);
});
