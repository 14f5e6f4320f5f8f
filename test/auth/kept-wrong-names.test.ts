import { createActor } from '@recourse/test-support/keyed-client.ts';
import { toResult } from '@recourse/test-support/keyed-stores-under-test.ts';
import { expect, test } from 'vitest';
import { toFailure } from '#src/executor/call-outcome.ts';
import { type RestoredCall, restoreEarlier } from '#src/executor/restore-earlier.ts';
import { createNameSuggestions } from '#src/executor/suggest-names.ts';
import { createNameIndex } from '#src/tools/name-index.ts';

const ANY = (): boolean => true;

const toUnknownToolText = (name: string, available: readonly string[]): string =>
  createNameSuggestions(() => createNameIndex(available), ANY).unknown(name);

const OPEN = { name: 'mine_2', tool: null, outcome: null, storedResult: null, isRecorded: false };

const toCall = (available: readonly string[]): RestoredCall => ({
  ...OPEN,
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
  const call = toCall(available);
  restoreEarlier(call, earlier, ANY);
  expect(call.storedResult).toBe(`${earlier.result.slice(0, -1)},"replayed":true}`);
});

test.each([
  ['another tool', ['mine_1', 'secret'], ['mine_1']],
  ['none of its tools', ['secret'], ['mine_1']],
  ['a tool whose name goes on behind a dot', ['mine_1', 'other.secret'], ['mine_1', 'other']],
  ['tools, to a key that has none', ['secret'], []],
] as const)('words that list %s are not replayed: those of now are said, and the record stays', (_, then, now) => {
  const call = toCall(now);
  restoreEarlier(call, keptFor(then, LAST_RETRY), ANY);
  expect([call.storedResult, call.isRecorded]).toEqual([null, true]);
  expect(call.outcome).toMatchObject({ kind: 'failure', failure: { message: toUnknownToolText('mine_2', now) } });
});

test('where there is a tool of that name now, no list is given', () => {
  const { tool } = createActor('mine_2');
  const call: RestoredCall = { ...OPEN, kind: 'ready', tool, refusal: null };
  restoreEarlier(call, keptFor(['secret']), ANY);
  expect(JSON.parse(call.storedResult ?? '')).toMatchObject({
    error: { code: 'unknown_tool' },
    replayed: true,
    message: 'Unknown tool: mine_2. It did not exist when this batch was first sent. Send the call in a new batch.',
  });
});
