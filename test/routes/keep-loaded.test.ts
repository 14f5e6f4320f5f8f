import { expect, test } from 'vitest';
import { keepLoaded } from '#src/routes/keep-loaded.ts';

test('what could not be loaded is loaded with the next call, and then kept', async () => {
  let loads = 0;
  const load = keepLoaded(async () => {
    loads += 1;
    if (loads === 1) throw new Error('EMFILE');
    return `load ${loads}`;
  });

  const together = await Promise.allSettled([load(), load()]);
  expect(together.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect([await load(), await load()]).toEqual(['load 2', 'load 2']);
  expect(loads).toBe(2);
});
