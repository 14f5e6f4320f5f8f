import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { makeDirectory } from '#test/tools/directory/temporary-directory.ts';
import { openLab, toOutcome, toolFile } from './isolation-lab.ts';

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
