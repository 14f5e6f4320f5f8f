import { ROOMY } from '@recourse/test-support/budget-session.ts';
import { createCallSession, type End } from '@recourse/test-support/call-session.ts';
import type { CreateStoreUnderTest } from '@recourse/test-support/session-stores-under-test.ts';
import { expect, test } from 'vitest';
import type { RoundForecast, SessionRecord } from '#src/executor/session-store.ts';

const SETTINGS = { ...ROOMY, sessionRetries: 20, maxCalls: 17, maxRounds: 14 };
const TOOLS = { test: { retries: 1 }, rare: { maxCalls: 2 }, look: {} };

// A failure, its retry, one too many; a limit of a tool; a loop; the limits of the session.
const ROUNDS: readonly (readonly [Readonly<Record<string, End>>, string?])[] = [
  [{ 'look a': '=1' }],
  [{ 'test a': 'fails', 'rare a': '=1' }],
  [{ 'test b': 'fails', 'look a': '=1' }, 'named'],
  [{ 'look b': '=1' }, 'named'],
  [{ 'test c': '=1', 'rare b': '=1' }],
  [{ 'rare c': '=1', 'look a': '=1' }],
  [{ 'look a': '=1' }],
  [{ 'look a': '=1' }],
  [{ 'look {': 'over', 'look c': 'times out' }],
  ...Array.from({ length: 6 }, () => [{ 'look z': 'fails' }] as const),
  [{ 'look d': '=1' }],
  [{ 'look e': '=1' }],
];

const toSaid = ({ mode, scope, step, permits, verdicts }: RoundForecast) => ({
  ...{ mode, scope, step, verdicts },
  permits: [...permits],
});

const withoutTimes = ({ tools, ...rest }: SessionRecord) => ({
  ...rest,
  tools: tools.map(({ failedAgoMs: _passes, ...tool }) => tool),
});

/** What a store says of rounds that do not begin. */
export const describeForecasts = (createStore: CreateStoreUnderTest): void => {
  test('a forecast says what a round is told when it begins, and changes nothing', async () => {
    const session = createCallSession(createStore(SETTINGS), TOOLS);
    const seen: string[] = [];
    for (const [calls, name] of ROUNDS) {
      const before = withoutTimes(await session.read());
      const forecast = async () => toSaid(await session.forecast(Object.keys(calls), name));
      const forecasts = [await forecast(), await forecast(), await forecast()];
      expect(withoutTimes(await session.read())).toEqual(before);
      const { end, admission } = await session.begin(Object.keys(calls), name);
      const said = toSaid(admission);
      expect(forecasts).toEqual([said, said, said]);
      seen.push(...said.permits.map(([, { decision }]) => decision), ...said.verdicts.map(({ kind }) => kind));
      await end(Object.values(calls));
    }
    expect(seen).toEqual(expect.arrayContaining(['free', 'retry', 'denied', 'idle', 'run', 'loop', 'limit']));
  });

  test('a forecast begins no session, and keeps none alive', async () => {
    const { store, forget } = createStore(SETTINGS);
    const session = createCallSession({ store }, TOOLS);
    const unseen = await session.read();
    expect((await session.forecast(['test a'])).step).toBe(1);
    expect(await session.read()).toEqual(unseen);
    await (await session.begin(['test a'])).end(['fails']);
    await session.forecast(['test a']);
    await forget(session.key);
    expect((await session.forecast(['test a'])).step).toBe(1);
  });
};
