import { openLab, toOutcome, toolFile } from '@recourse/test-support/isolation-lab.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';

const FOREVER = { timeout: timeLimit(15_000) };

const FILE = toolFile({ pid: 'await wait(input.ms ?? 0); return process.pid;' });

test('two hundred calls that wait take as long as one, and no more hosts than there may be', async () => {
  const { load, hostCount } = openLab({ maxHosts: 3, minHosts: 1 });
  const { call } = await load(FILE);
  await call('pid');
  let most = 0;
  const watching = setInterval(() => {
    most = Math.max(most, hostCount());
  }, 1);
  const startedAt = performance.now();
  const pids = await Promise.all(Array.from({ length: 200 }, () => call('pid', { ms: 1000 }).then(toOutcome)));
  const tookMs = performance.now() - startedAt;
  clearInterval(watching);
  expect(pids.filter((pid) => typeof pid === 'number')).toHaveLength(200);
  // One at a time in each of three hosts would take 67 s.
  expect(tookMs).toBeLessThan(timeLimit(5000));
  expect(most).toBeLessThanOrEqual(3);
});

test('hosts that nobody used for 30 s end, but for those to be kept warm', async () => {
  let passedMs = 0;
  const { load, isolation, ended, processes } = openLab({
    minHosts: 1,
    maxHosts: 3,
    now: () => performance.now() + passedMs,
  });
  const { call } = await load(FILE.replace("effects: 'read'", "effects: 'read', concurrency: 1"));
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

test('files take turns in fewer hosts than there are files, and every call is answered', async () => {
  const { load, hostCount } = openLab({ minHosts: 2, maxHosts: 2 });
  const files = [await load(FILE, 'a.ts'), await load(FILE, 'b.ts'), await load(FILE, 'c.ts')];
  const calls = [...files, ...files].map(({ call }) => call('pid', { ms: 20 }));
  const pids = (await Promise.all(calls)).map(toOutcome);
  expect(pids.filter((pid) => typeof pid === 'number')).toHaveLength(6);
  expect(hostCount()).toBeLessThanOrEqual(2);
});

test('forty files are read in two processes, and one that hangs, one that ends its process and one that throws fail alone', async () => {
  const lab = openLab({ minHosts: 1, maxHosts: 4 });
  const texts = new Map(Array.from({ length: 40 }, (_, n) => [`f${n}.ts`, toolFile({ [`t${n}`]: `return ${n};` })]));
  texts.set('f10.ts', 'await new Promise(() => setInterval(() => undefined, 1000));');
  texts.set('f20.ts', 'process.exit(5);');
  texts.set('f30.ts', "throw new Error('no licence');");
  texts.set('f35.ts', `globalThis.mine = 1; ${texts.get('f35.ts')}`);
  const loaded = await lab.loadAll(texts);
  const failed = [...loaded].flatMap(([name, file]) => (typeof file === 'string' ? [[name, file]] : []));
  expect(failed).toEqual([
    ['f10.ts', 'it did not finish loading within 2 s'],
    ['f20.ts', 'its process ended while loading: exit code 5'],
    ['f30.ts', 'Error: no licence'],
  ]);
  // Two for the most, one after each file that broke its process, and those in which the two were tried again.
  expect(lab.hostCount() + lab.ended.length).toBeLessThanOrEqual(10);
  for (const n of [0, 11, 21, 31, 35, 36, 39]) {
    const file = loaded.get(`f${n}.ts`);
    if (file === undefined || typeof file === 'string') throw new Error(`f${n}.ts: ${file}`);
    expect(toOutcome(await file.call(`t${n}`))).toBe(n);
  }
});
