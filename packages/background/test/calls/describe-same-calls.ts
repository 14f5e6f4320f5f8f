import {
  accept,
  type CreateCallRecordsUnderTest,
  createCallSpec,
  SURE,
  take,
} from '@recourse/test-support/call-records-under-test.ts';
import { expect, test } from 'vitest';

/** What all records promise of the same call, made again in its session. */
export const describeSameCalls = (createRecords: CreateCallRecordsUnderTest): void => {
  test('the same call again is found while it is pending, and in its own session alone', async () => {
    const { records } = await createRecords();
    const { spec } = createCallSpec();
    const { sessionKey, fingerprint } = spec;
    const key = await accept(records, { sessionKey, fingerprint });
    expect(await records.sessions.findSame(sessionKey ?? '', fingerprint)).toBe(key);
    expect(await records.sessions.findSame(sessionKey ?? '', 'other')).toBeNull();
    expect(await records.sessions.findSame('tenant:other', fingerprint)).toBeNull();
    const { lease } = await take(records, key);
    expect(await records.sessions.findSame(sessionKey ?? '', fingerprint)).toBe(key);
    await records.commit(lease, '{}', SURE);
    expect(await records.sessions.findSame(sessionKey ?? '', fingerprint)).toBeNull();
    const again = await accept(records, { sessionKey, fingerprint });
    expect(await records.sessions.findSame(sessionKey ?? '', fingerprint)).toBe(again);
  });

  test('of the same calls of a session that are made at once one is made, and the others are told its key', async () => {
    const { records } = await createRecords();
    const { sessionKey, fingerprint } = createCallSpec().spec;
    const made = Array.from({ length: 8 }, () => createCallSpec({ sessionKey, fingerprint }));
    const answers = await Promise.all(
      made.map(async ({ key, spec }) => {
        const created = await records.create(key, spec);
        if (created.kind === 'created') await records.confirm(key);
        return { key, created };
      }),
    );
    const [first, ...others] = answers.filter(({ created }) => created.kind === 'created');
    expect(others).toEqual([]);
    const told = answers.filter((answer) => answer !== first).map(({ created }) => created);
    expect(told).toEqual(made.slice(1).map(() => ({ kind: 'same', key: first?.key })));
    expect(await records.sessions.list(sessionKey ?? '')).toEqual([first?.key]);
    // What was withdrawn is never run.
    for (const { key, created } of answers)
      if (created.kind === 'same') expect(await records.claim(key)).toEqual({ kind: 'gone' });
    await records.commit((await take(records, first?.key ?? '')).lease, '{}', SURE);
    const again = createCallSpec({ sessionKey, fingerprint });
    expect(await records.create(again.key, again.spec)).toEqual({ kind: 'created' });
  });
};
