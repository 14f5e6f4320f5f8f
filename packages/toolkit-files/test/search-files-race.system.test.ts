import { join } from 'node:path';
import { toRaceMs } from '@recourse/test-support/file-access.ts';
import { startLinkSwapper, startPlaceSwapper } from '@recourse/test-support/link-swapper.ts';
import { startSearchLab } from '@recourse/test-support/search-lab.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';

const SECRET = '"text":"the secret"';

const toFound = (path: string): string =>
  `{"query":"the secret","matches":[{"path":"${path}","line":1,"text":"the secret meeting"}],"count":1}`;

/** What searches say until all that is expected was said, and for a second at least. */
const searchLong = async (search: () => Promise<unknown>, expected: readonly string[]): Promise<readonly string[]> => {
  const seen = new Set<string>();
  const started = performance.now();
  // Under load one process may stand still for a second: go on until both sides of the race are met.
  const isOver = (): boolean =>
    performance.now() - started > (expected.every((text) => seen.has(text)) ? toRaceMs(1000) : 20_000);
  while (!isOver()) {
    const searches = Array.from({ length: 8 }, () =>
      search().then(
        (value) => JSON.stringify(value),
        (thrown: unknown) => (thrown instanceof Error ? thrown.name : 'no error'),
      ),
    );
    for (const end of await Promise.all(searches)) seen.add(end);
  }
  return [...seen].sort();
};

test('a path that becomes a link out during the call never gives the secret', {
  timeout: timeLimit(30_000),
}, async () => {
  const { root, outside, search } = await startSearchLab({ 'minutes/secret.txt': 'the secret meeting' });
  await using _swapper = await startLinkSwapper({ name: join(root, 'swapped'), good: 'minutes', evil: outside });
  const found = toFound('swapped/secret.txt');
  const seen = await searchLong(() => search({ query: 'the secret', path: 'swapped' }), [found, 'RetryableToolError']);
  // The name can be empty for the moment in which a link is replaced.
  expect(seen.filter((end) => end !== 'FileNotFoundError')).toEqual(['RetryableToolError', found]);
});

// They are searched between the moment in which the names are read and the one in which the last of them is opened.
const BEFORE = Object.fromEntries(Array.from({ length: 300 }, (_, place) => [`a${place}.md`, 'nothing']));

test.each([
  ['a file', 'z.txt', 'secret.txt', 'z.txt'],
  ['a directory', 'z', '', 'z/secret.txt'],
])(
  '%s below the path that becomes a link out during the search never gives the secret',
  { timeout: timeLimit(30_000) },
  async (_what, name, evil, path) => {
    const { root, outside, search } = await startSearchLab({ ...BEFORE, [path]: 'the secret meeting' });
    await using _swapper = await startPlaceSwapper({ name: join(root, name), evil: join(outside, evil) });
    const found = toFound(path);
    const seen = await searchLong(() => search({ query: 'the secret' }), [found]);
    expect(seen).toContain(found);
    expect(seen.filter((end) => end.includes(SECRET))).toEqual([]);
  },
);
