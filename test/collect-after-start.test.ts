import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { ROOT } from './support/start-process.ts';

/** What a process of its own prints that loads the collection and has made 20 MB of garbage. */
const run = (script: string): unknown => {
  const program = `
    import { collectAfterStart } from './src/collect-after-start.ts';
    const alive = setInterval(() => undefined, 1000);
    let garbage = Array.from({ length: 400_000 }, (_, count) => ({ count }));
    const before = process.memoryUsage().heapTotal;
    garbage = garbage.length;
    const beganAt = performance.now();
    ${script}
    clearInterval(alive);`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    cwd: ROOT,
    encoding: 'utf8',
    timeout: 60_000,
  });
  expect(stderr).toBe('');
  return JSON.parse(stdout);
};

test('a process that is idle has given back what its start left behind, and leaves no function to collect with', () => {
  expect(
    run(`
    const tookMs = await collectAfterStart();
    const share = process.memoryUsage().heapTotal / before;
    console.log(JSON.stringify({ collected: tookMs > 0, less: share < 0.6, left: typeof globalThis.gc }));`),
  ).toEqual({ collected: true, less: true, left: 'undefined' });
});

test('a process that is busy is not interrupted', () => {
  expect(
    run(`
    const busyUntil = beganAt + 1000;
    const work = setInterval(() => {
      const until = performance.now() + 15;
      while (performance.now() < until);
      if (until > busyUntil) clearInterval(work);
    }, 20);
    await collectAfterStart();
    console.log(JSON.stringify({ waited: performance.now() >= busyUntil }));`),
  ).toEqual({ waited: true });
});
