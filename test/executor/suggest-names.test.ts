import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import { createNameSuggestions } from '#src/executor/suggest-names.ts';
import { createNameIndex } from '#src/tools/name-index.ts';

const TOOLS = Array.from({ length: 5000 }, (_, place) => `upstream_${String(place).padStart(4, '0')}_search_documents`);
const WRONG = Array.from({ length: 64 }, (_, place) => `upstream_${place}_serach_documents`);

test('64 wrong names against 5 000 tools cost milliseconds, and each is told of tools', () => {
  const times = Array.from({ length: 5 }, () => {
    const { unknown } = createNameSuggestions(
      () => createNameIndex(TOOLS),
      () => true,
    );
    const startedAt = performance.now();
    for (const text of WRONG.map(unknown)) expect(text).toContain('Available tools: upstream_');
    return performance.now() - startedAt;
  });
  // All 64 compared take 400 ms where nothing else runs.
  expect(Math.min(...times)).toBeLessThan(timeLimit(100));
});

test('one name again and again is compared once, and the tools are listed once', () => {
  const lists: string[] = [];
  const suggestions = createNameSuggestions(
    () => {
      lists.push('asked');
      return createNameIndex(['search', 'echo']);
    },
    () => true,
  );
  expect(lists).toEqual([]);
  const said = "Unknown tool: serach. Did you mean 'search'? Available tools: search, echo.";
  expect([1, 2, 3].map(() => suggestions.unknown('serach'))).toEqual([said, said, said]);
  expect(suggestions.hidden('serach', 'switched_off')).toContain('Available tools: search, echo.');
  expect(lists).toEqual(['asked']);
});

test('where there are few tools every wrong name of a batch is guessed', () => {
  const { unknown } = createNameSuggestions(
    () => createNameIndex(['search', 'echo']),
    () => true,
  );
  for (let place = 0; place < 64; place += 1) expect(unknown(`searc${place}`)).toContain("Did you mean 'search'?");
});
