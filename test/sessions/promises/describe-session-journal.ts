import { ROOMY } from '@recourse/test-support/budget-session.ts';
import { type CallSession, createCallSession } from '@recourse/test-support/call-session.ts';
import type { CreateStoreUnderTest } from '@recourse/test-support/session-stores-under-test.ts';
import { describe, expect, test } from 'vitest';

const JOURNAL = { ...ROOMY, journal: 5 };

const line = (number: number, tool: string | null = 'x') => ({ tool, json: `{"n":${number}}` });

const write = async (session: CallSession, numbers: readonly number[]): Promise<void> => {
  const round = await session.begin(numbers.map((number) => `x ${number}`));
  await round.end(
    numbers.map((number) => `=${number}` as const),
    numbers.map((number) => line(number)),
  );
};

/** The calls of a session, written down in order. */
export const describeSessionJournal = (createStore: CreateStoreUnderTest): void => {
  const numbersOf = async (session: CallSession): Promise<readonly unknown[]> =>
    (await session.read()).journal.map((text) => JSON.parse(text).n);

  describe('journal', () => {
    test('it holds the calls in their order, round after round', async () => {
      const session = createCallSession(createStore(JOURNAL));
      await write(session, [1, 2]);
      await write(session, [3]);
      expect(await numbersOf(session)).toEqual([1, 2, 3]);
    });

    test('it keeps the last ones only, also of a round that is longer than it', async () => {
      const session = createCallSession(createStore(JOURNAL));
      await write(session, [1, 2, 3, 4, 5, 6, 7]);
      expect(await numbersOf(session)).toEqual([3, 4, 5, 6, 7]);
      for (let first = 8; first < 48; first += 4) await write(session, [first, first + 1, first + 2, first + 3]);
      // Five calls, and room for 32 late results among them.
      expect(await numbersOf(session)).toEqual(Array.from({ length: 37 }, (_, place) => place + 11));
    });

    test("each line tells what its tool has left after the round, or null where it is nobody's", async () => {
      const session = createCallSession(createStore(JOURNAL), { x: { retries: 2 }, y: { retries: 1 } });
      await (await session.begin(['x 1', 'y 1'])).end(['fails', '=1'], [line(1), line(2, 'y'), line(3, null)]);
      await (await session.begin(['x 2'])).end(['fails'], [line(4), line(5, 'y'), { tool: null, json: '{}' }]);
      expect((await session.read()).journal).toEqual([
        '{"n":1,"retries_left":2}',
        '{"n":2,"retries_left":1}',
        '{"n":3,"retries_left":null}',
        '{"n":4,"retries_left":1}',
        '{"n":5,"retries_left":null}',
        '{"retries_left":null}',
      ]);
    });

    test('any text comes back as it was written', async () => {
      const session = createCallSession(createStore(JOURNAL));
      const json = JSON.stringify({ text: 'é😀 "quoted" \u0000 }\n{ %d %s' });
      await (await session.begin(['x 1'])).end(['=1'], [{ tool: null, json }]);
      const [text = ''] = (await session.read()).journal;
      expect(JSON.parse(text)).toEqual({ text: 'é😀 "quoted" \u0000 }\n{ %d %s', retries_left: null });
    });

    test('a round that was refused whole is written down, too', async () => {
      const session = createCallSession(createStore({ ...JOURNAL, maxRounds: 1 }));
      await write(session, [1]);
      await write(session, [2]);
      expect(await numbersOf(session)).toEqual([1, 2]);
    });

    test('what comes late is a line of its own, as it is, and pushes no call out', async () => {
      const session = createCallSession(createStore(JOURNAL));
      const round = await session.begin(['x 1']);
      await round.end(['times out'], [line(1)]);
      await write(session, [2, 3, 4, 5]);
      await round.admission.addLate('{"late":1}');
      expect((await session.read()).journal.slice(-2)).toEqual(['{"n":5,"retries_left":20}', '{"late":1}']);
      expect(await numbersOf(session)).toEqual([1, 2, 3, 4, 5, undefined]);
    });

    test('0 lines is no journal', async () => {
      const session = createCallSession(createStore(ROOMY));
      const round = await session.begin(['x 1']);
      await round.end(['=1'], [line(1)]);
      await round.admission.addLate('{"late":1}');
      expect((await session.read()).journal).toEqual([]);
    });
  });

  describe('journal of a loop', () => {
    const refused = (number: number, args: string, code = 'loop_detected') => ({
      tool: 'x',
      json: `{"n":${number},"id":"\\"tool\\":","tool":"x","name":"x","fingerprint":"${args}","arguments":"{}","outcome":"refused","code":"${code}"}`,
    });
    const refuse = async (session: CallSession, lines: readonly ReturnType<typeof refused>[]): Promise<void> => {
      const round = await session.begin(lines.map((_line, at) => `x ${at}`));
      await round.end(
        lines.map((_line, at) => `=${at}` as const),
        lines,
      );
    };
    const callsOf = async (session: CallSession): Promise<readonly unknown[]> =>
      (await session.read()).journal.map((text) => {
        const { n, repeats } = JSON.parse(text);
        return repeats === undefined ? n : `${n} (${repeats})`;
      });

    test('a call that is refused again and again is one line, the last one, with how often', async () => {
      const session = createCallSession(createStore(JOURNAL));
      await write(session, [1, 2]);
      for (let number = 3; number < 60; number += 1) await refuse(session, [refused(number, 'a')]);
      expect(await callsOf(session)).toEqual([1, 2, '59 (57)']);
      await write(session, [60]);
      await refuse(session, [refused(61, 'a')]);
      expect(await callsOf(session)).toEqual([1, 2, '59 (57)', 60, 61]);
    });

    test('a loop over several calls is a line for each; another code or other arguments are other calls', async () => {
      const session = createCallSession(createStore(JOURNAL));
      await write(session, [1]);
      for (const number of [10, 20, 30]) {
        await refuse(session, [refused(number, 'a'), refused(number + 1, 'b'), refused(number + 2, 'a')]);
        await refuse(session, [refused(number + 3, 'a', 'retry_budget_exhausted')]);
      }
      expect(await callsOf(session)).toEqual([1, '31 (3)', '32 (6)', '33 (3)']);
    });

    test('the last call that was not refused stays, however many different ones are refused after it', async () => {
      const session = createCallSession(createStore(JOURNAL));
      await write(session, [1, 2]);
      await (await session.begin(['x 1'])).end(['=1'], [line(3), refused(4, 'first')]);
      for (let number = 5; number < 100; number += 1) await refuse(session, [refused(number, `${number}`)]);
      const calls = await callsOf(session);
      expect([calls.length, ...calls.slice(0, 2), calls.at(-1)]).toEqual([37, 3, 64, 99]);
      for (let number = 100; number < 137; number += 1) await write(session, [number]);
      expect((await callsOf(session)).slice(0, 2)).toEqual([100, 101]);
    });

    test('late results among refused calls change nothing of that', async () => {
      const session = createCallSession(createStore(JOURNAL));
      const round = await session.begin(['x 1']);
      await round.end(['times out'], [line(1)]);
      await refuse(session, [refused(2, 'a')]);
      await round.admission.addLate('{"late_of":1,"n":"late"}');
      for (let number = 3; number < 50; number += 1)
        await refuse(session, [refused(number, 'a'), refused(-number, `${number}`)]);
      const calls = await callsOf(session);
      expect([calls.length, calls[0], calls.at(-2), calls.at(-1)]).toEqual([37, 1, '49 (48)', -49]);
    });
  });

  describe('journal and lives of a session', () => {
    test('a session that is gone has none, and the next one begins with none', async () => {
      const subject = createStore(JOURNAL);
      const session = createCallSession(subject);
      await write(session, [1, 2]);
      await subject.forget(session.key);
      expect((await session.read()).journal).toEqual([]);
      await write(session, [3]);
      expect(await numbersOf(session)).toEqual([3]);
    });

    test('neither a settlement nor a late result of an earlier life is written into the next', async () => {
      const subject = createStore(JOURNAL);
      const session = createCallSession(subject);
      const [first, second] = [await session.begin(['x 1']), await session.begin(['x 2'])];
      await first.end(['=1'], [line(1)]);
      await subject.forget(session.key);
      await first.admission.addLate('{"late":1}');
      await second.end(['fails'], [line(2)]);
      expect((await session.read()).journal).toEqual([]);
      await write(session, [3]);
      await first.admission.addLate('{"late":1}');
      await second.end(['fails'], [line(2)]);
      expect(await numbersOf(session)).toEqual([3]);
    });
  });
};
