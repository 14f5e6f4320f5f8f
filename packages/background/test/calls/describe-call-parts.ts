import {
  accept,
  type CreateCallRecordsUnderTest,
  look,
  SURE,
  take,
} from '@recourse/test-support/call-records-under-test.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';

const WAIT = { timeout: timeLimit(10_000), interval: 10 };

/** What all records of pending calls promise of the parts of a call. */
export const describeCallParts = (createRecords: CreateCallRecordsUnderTest): void => {
  const start = async () => {
    const { records, lapse } = await createRecords();
    const watch = async (key: string) => {
      const heard: string[] = [];
      const { ready, stop } = records.signals.watchParts(key, (valueJson) => void heard.push(valueJson));
      await ready;
      return { heard, stop };
    };
    return { records, lapse, watch };
  };

  test('parts of a call reach all who watch it, in their order, and nobody who watches another call', async () => {
    const { records, watch } = await start();
    const [key, other] = [await accept(records), await accept(records)];
    const watchers = [await watch(key), await watch(key)];
    const stranger = await watch(other);
    const [{ lease }, { lease: ofOther }] = [await take(records, key), await take(records, other)];
    await records.begin(lease);
    const parts = Array.from({ length: 200 }, (_, at) => JSON.stringify({ at, text: 'ü😀\n' }));
    for (const part of parts) records.publishPart(lease, part);
    for (const { heard } of watchers) await expect.poll(() => heard, WAIT).toEqual(parts);
    records.publishPart(ofOther, '"last"');
    await expect.poll(() => stranger.heard, WAIT).toEqual(['"last"']);
  });

  test('a part is published by who holds the call, until its end, and kept nowhere', async () => {
    const { records, lapse, watch } = await start();
    const key = await accept(records);
    const { heard } = await watch(key);
    const frozen = await take(records, key);
    await records.begin(frozen.lease);
    await lapse(key);
    const { lease } = await take(records, key);
    await records.begin(lease);
    records.publishPart(frozen.lease, '"of a worker that lost the call"');
    records.publishPart(lease, '"held"');
    await expect.poll(() => heard, WAIT).toEqual(['"held"']);
    expect(JSON.stringify(await look(records, key))).not.toContain('\\"held\\"');
    expect(await records.commit(lease, '{}', SURE)).toBe('held');
    records.publishPart(lease, '"after the end"');
    // One that the store has taken after it is there: so that one is not on its way.
    const probe = await accept(records);
    const probed = await watch(probe);
    records.publishPart((await take(records, probe)).lease, '"probe"');
    await expect.poll(() => probed.heard, WAIT).toEqual(['"probe"']);
    expect(heard).toEqual(['"held"']);
  });

  test('who stops hears no more, the others go on, and whoever watches later hears what comes then', async () => {
    const { records, watch } = await start();
    const key = await accept(records);
    const [first, second] = [await watch(key), await watch(key)];
    const { lease } = await take(records, key);
    records.publishPart(lease, '1');
    await expect.poll(() => [first.heard, second.heard], WAIT).toEqual([['1'], ['1']]);
    first.stop();
    first.stop();
    records.publishPart(lease, '2');
    await expect.poll(() => second.heard, WAIT).toEqual(['1', '2']);
    second.stop();
    records.publishPart(lease, '3');
    const later = await watch(key);
    records.publishPart(lease, '4');
    await expect.poll(() => later.heard, WAIT).toContain('4');
    expect([first.heard, second.heard]).toEqual([['1'], ['1', '2']]);
  });
};
