import { brief, type Counter, counterKind, countUp, readCounts } from '@recourse/test-support/counter-kind.ts';
import { describe, expect, test } from 'vitest';
import type { RecordStore } from '#src/store/record-store.ts';

/** A store, and what a test may do to it. `expire` makes all records as old as their kind lets them be. */
export type RecordStoreUnderTest = { readonly store: RecordStore; readonly expire: (key: string) => Promise<void> };

const add =
  (text: string) =>
  (state: Counter): number => {
    state.added = [...state.added, text];
    return countUp()(state);
  };

/** What every backend promises of records. */
export const describeRecordStore = (name: string, create: () => Promise<RecordStoreUnderTest>): void => {
  let last = 0;
  const open = async () => {
    const { store, expire } = await create();
    last += 1;
    return { store, records: store.open(counterKind), key: `t:${process.pid}-${last}`, expire };
  };
  describe(name, () => {
    test.each(['short', 'claim', 'long', 'always'] as const)(
      'updates of a record follow each other, each on what the last one left: %s',
      async (timeout) => {
        const { records, key } = await open();
        const results = await Promise.all(Array.from({ length: 50 }, () => records.update(key, countUp(), timeout)));
        expect(results).toEqual(Array.from({ length: 50 }, (_, at) => at + 1));
        expect(await records.read(key, readCounts)).toEqual({ one: 50 });
      },
    );

    test('there is no record before the first update, and none by one that leaves it empty', async () => {
      const { records, key } = await open();
      expect(await records.read(key, readCounts)).toBeNull();
      expect(await records.update(key, readCounts)).toEqual({});
      expect(await records.read(key, readCounts)).toBeNull();
      expect(await records.list(key, 9)).toEqual([]);
    });

    test('a field comes, changes and goes', async () => {
      const { records, key } = await open();
      await records.update(key, countUp('a'));
      await records.update(key, countUp('b'));
      await records.update(key, ({ counts }) => counts.delete('a'));
      await records.update(key, countUp('b'));
      expect(await records.read(key, readCounts)).toEqual({ b: 2 });
    });

    test('nothing of a record is left in one that begins while it is deleted', async () => {
      const { records, key } = await open();
      await records.update(key, add('a'), 'long');
      const deleted = records.delete(key);
      expect(await records.update(key, countUp('two'), 'long')).toBe(1);
      await deleted;
      expect(await records.read(key, readCounts)).toEqual({ two: 1 });
      expect(await records.list(key, 9)).toEqual([]);
    });

    test('records of one kind do not touch each other', async () => {
      const { records, key } = await open();
      await Promise.all([
        records.update(key, add('a')),
        records.update(`${key}x`, add('b')),
        records.update(key, add('c')),
      ]);
      const texts = async (of: string) => await records.list(of, 9);
      expect([await texts(key), await texts(`${key}x`)]).toEqual([['a', 'c'], ['b']]);
    });

    test('a list gives its last elements, oldest first, and no more than it keeps', async () => {
      const { records, key } = await open();
      for (const text of ['a', 'b', 'c', 'd', 'e']) await records.update(key, add(text));
      const textsOf = async (count: number) => await records.list(key, count);
      expect([await textsOf(3), await textsOf(1), await textsOf(0)]).toEqual([['c', 'd', 'e'], ['e'], []]);
    });

    test('what is looked at is not changed', async () => {
      const { records, key } = await open();
      await records.update(key, countUp());
      expect(await records.read(key, readCounts)).toEqual({ one: 1 });
      expect(await records.read(key, readCounts)).toEqual({ one: 1 });
      expect(await records.update(key, countUp())).toBe(2);
    });

    test('a deleted record is gone with its list, and begins anew', async () => {
      const { records, key } = await open();
      await records.update(key, add('a'), 'long');
      await records.delete(key);
      expect([await records.read(key, readCounts), await records.list(key, 9)]).toEqual([null, []]);
      expect(await records.update(key, add('b'))).toBe(1);
      expect(await records.list(key, 9)).toEqual(['b']);
    });

    test('a record that an update leaves empty is deleted with its list, and begins anew', async () => {
      const { records, key } = await open();
      await records.update(key, add('a'), 'long');
      await records.update(key, ({ counts }) => counts.clear(), 'long');
      expect([await records.read(key, readCounts), await records.list(key, 9)]).toEqual([null, []]);
      expect(await records.update(key, add('b'))).toBe(1);
      expect(await records.read(key, readCounts)).toEqual({ one: 1 });
      expect(await records.list(key, 9)).toEqual(['b']);
    });

    test('the time to the end of a record follows from its state: shorter or longer than before, or over', async () => {
      const { store, key, expire } = await open();
      const records = store.open(brief);
      // As many milliseconds as it counts.
      await records.update(key, ({ counts }) => counts.set('ms', 500), 'long');
      await records.update(key, ({ counts }) => counts.set('ms', 600_000), 'long');
      await expire(`${key}-other`);
      expect(await records.update(key, readCounts, 'long')).toEqual({ ms: 600_000 });
      await records.update(key, ({ counts }) => counts.set('ms', 1), 'long');
      await expire(key);
      expect(await records.read(key, readCounts)).toBeNull();
      await records.update(key, ({ counts }) => counts.set('ms', 600_000), 'long');
      await records.update(key, ({ counts }) => counts.set('ms', -1), 'long');
      expect(await records.read(key, readCounts)).toBeNull();
      expect(await records.update(key, readCounts, 'long')).toEqual({});
    });

    test('who names the fields that it needs finds these', async () => {
      const { records, key } = await open();
      await records.update(key, countUp('a'));
      await records.update(key, countUp('b'));
      expect(await records.read(key, readCounts, ['n:a'])).toMatchObject({ a: 1 });
      expect(await records.read(`${key}x`, readCounts, ['n:a'])).toBeNull();
    });

    test('a record ends with its time, and its list with it', async () => {
      const { records, key, expire } = await open();
      await records.update(key, add('a'), 'long');
      await expire(key);
      expect(await records.read(key, readCounts)).toBeNull();
      expect(await records.update(key, add('b'))).toBe(1);
      expect(await records.list(key, 9)).toEqual(['b']);
    });

    test('texts of any characters come back, a lone half of one as U+FFFD where the backend has only whole ones', async () => {
      const { records, key } = await open();
      const text = '\u0000 "\\ \n ü 漢 😀';
      await records.update(key, (state) => {
        state.added = [text];
        state.counts.set(`${text}\ud800`, 1);
        return null;
      });
      const counts = await records.read(key, ({ counts }) => [...counts.keys()].map((name) => name.toWellFormed()));
      expect(counts).toEqual([`${text}\ufffd`]);
      expect(await records.list(key, 1)).toEqual([text]);
    });
  });
};
