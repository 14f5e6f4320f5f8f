import { toResult } from '@recourse/test-support/idempotency-stores-under-test.ts';
import { createActor } from '@recourse/test-support/keyed-client.ts';
import { expect, test } from 'vitest';
import { toFailure } from '#src/executor/call-outcome.ts';
import { decideEarlier } from '#src/executor/earlier-try.ts';
import { createNameSuggestions } from '#src/executor/suggest-names.ts';
import { createNameIndex } from '#src/tools/name-index.ts';

const ANY = (): boolean => true;

const toUnknownToolText = (name: string, available: readonly string[]): string =>
  createNameSuggestions(() => createNameIndex(available), ANY).unknown(name);

const toCall = (available: readonly string[]): Parameters<typeof decideEarlier>[0] => ({
  name: 'mine_2',
  tool: null,
  kind: 'unknown_tool',
  refusal: toFailure('unknown_tool', toUnknownToolText('mine_2', available), null),
});

const keptFor = (available: readonly string[], suffix = '') => {
  const message = `${toUnknownToolText('mine_2', available)}${suffix}`;
  const error = { code: 'unknown_tool', type: 'unknown_tool', fatal: false };
  const about = { success: false, outcome: 'retry', executed: 'no', message, error };
  return { state: 'committed', result: toResult(0, null, about) } as const;
};

const LAST_RETRY = ' This was attempt 2 of 3; one retry is left.';

test.each([
  ['the same tools', ['mine_1'], ''],
  ['the same tools, and a word about retries', ['mine_1', 'mine_3'], LAST_RETRY],
  ['no tools', [], ''],
] as const)('words that list %s are replayed as they are', (_, available, suffix) => {
  const earlier = keptFor(available, suffix);
  expect(decideEarlier(toCall(available), earlier, ANY)).toMatchObject({
    kind: 'replayed',
    result: `${earlier.result.slice(0, -1)},"replayed":true}`,
  });
});

test.each([
  ['another tool', ['mine_1', 'secret'], ['mine_1']],
  ['none of its tools', ['secret'], ['mine_1']],
  ['a tool whose name goes on behind a dot', ['mine_1', 'other.secret'], ['mine_1', 'other']],
  ['tools, to a key that has none', ['secret'], []],
] as const)('words that list %s are not replayed: those of now are said, and the record stays', (_, then, now) => {
  expect(decideEarlier(toCall(now), keptFor(then, LAST_RETRY), ANY)).toMatchObject({
    kind: 'replayed',
    result: null,
    outcome: { kind: 'failure', failure: { message: toUnknownToolText('mine_2', now) } },
  });
});

test('where there is a tool of that name now, no list is given', () => {
  const { tool } = createActor('mine_2');
  const call = { name: 'mine_2', kind: 'ready', tool, refusal: null } as const;
  const state = decideEarlier(call, keptFor(['secret']), ANY);
  expect(JSON.parse(state?.kind === 'replayed' ? (state.result ?? '') : '')).toMatchObject({
    error: { code: 'unknown_tool' },
    replayed: true,
    message: 'Unknown tool: mine_2. It did not exist when this batch was first sent. Send the call in a new batch.',
  });
});
