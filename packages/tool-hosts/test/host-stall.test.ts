import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { openLab, toOutcome, toolFile } from '@recourse/test-support/isolation-lab.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { expect, test, vi } from 'vitest';

test('a service that is held up for longer than a host may take to begin does not end a call that has begun', async () => {
  const { root } = makeDirectory();
  const { load, ended } = openLab({ minHosts: 1 });
  const { call } = await load(
    toolFile({ note: `writeFileSync('${root}/' + process.pid, ''); return wait(3000, 'noted');` }),
  );
  const running = call('note');
  await new Promise((resolve) => setImmediate(resolve));
  const until = performance.now() + 2000;
  while (performance.now() < until);
  expect(toOutcome(await running)).toBe('noted');
  expect(readdirSync(root)).toHaveLength(1);
  expect(ended).toEqual([]);
});

test('the other calls of a host go on while the service does not read a large answer', async () => {
  const { root } = makeDirectory();
  const { load } = openLab({ minHosts: 1, maxResultBytes: 16_777_216 });
  const { call } = await load(
    toolFile({
      large: `while (!existsSync('${root}/go')) await wait(1); writeFileSync('${root}/gone', ''); return 'x'.repeat(8_000_000);`,
      count: `for (let n = 0; !existsSync('${root}/end'); n += 1) { writeFileSync('${root}/count', String(n)); await wait(1); } return 'counted';`,
    }),
  );
  const [large, counting] = [call('large'), call('count')];
  const read = (): number => (existsSync(`${root}/count`) ? Number(readFileSync(`${root}/count`, 'utf8')) : 0);
  await vi.waitFor(() => expect(read()).toBeGreaterThan(0), { timeout: 10_000, interval: 1 });
  writeFileSync(`${root}/go`, '');
  // From here on the service's event loop stands still.
  const until = performance.now() + 10_000;
  const waitFor = (isSo: () => boolean): boolean => {
    while (!isSo() && performance.now() < until) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
    return isSo();
  };
  expect(waitFor(() => existsSync(`${root}/gone`))).toBe(true);
  const before = read();
  expect(waitFor(() => read() > before + 50)).toBe(true);
  writeFileSync(`${root}/end`, '');
  expect([await large, await counting].map(toOutcome)).toEqual(['x'.repeat(8_000_000), 'counted']);
});
