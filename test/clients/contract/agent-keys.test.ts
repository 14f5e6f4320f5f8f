import { expect, test } from 'vitest';
import {
  toLostText,
  toNotRunText,
  toSettledText,
  toStillPendingText,
} from '../../../clients/typescript/src/answer-texts.ts';
import { toCallKey, toTurnKey } from '../../../clients/typescript/src/derive-key.ts';
import { readContract } from './contract-case.ts';

const { keys, texts } = readContract();

test('a call, and a message with all its calls, has the Idempotency-Key that every client makes of its session and id', async () => {
  const ofCalls = await Promise.all(
    keys.call.map(async ([session, id]) => [session, id, await toCallKey(session, id)]),
  );
  const ofTurns = await Promise.all(
    keys.turn.map(async ([session, id]) => [session, id, await toTurnKey(session, id)]),
  );
  expect({ call: ofCalls, turn: ofTurns }).toEqual(keys);
  for (const [, , key] of [...keys.call, ...keys.turn]) expect(key).toMatch(/^[\w-]{43}$/);
});

test('a model reads the same words from every client where a call has no result', () => {
  expect({
    lost: toLostText('{tool}'),
    not_run: toNotRunText('{tool}', '{reason}'),
    still_pending: toStillPendingText('{tool}'),
    settled: toSettledText('{tool}', '{text}'),
  }).toEqual(texts);
});
