import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SqliteRecordStore } from '@recourse/store-sqlite/sqlite-record-store';
import {
  accept,
  createCallSpec,
  look,
  openEmbeddedCalls,
  SURE,
  take,
} from '@recourse/test-support/call-records-under-test.ts';
import { createManualClock } from '@recourse/test-support/session-stores-under-test.ts';
import { createByteBudget } from 'recourse-server/internal/memory/byte-budget.ts';
import { expect, onTestFinished, test } from 'vitest';
import { callKind } from '#src/calls/call-kind.ts';

/** A file, and processes one after the other that have it: none is told when it ends. */
const makeFile = async () => {
  const folder = await mkdtemp(join(tmpdir(), 'recourse-calls-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const clock = createManualClock();
  const onFailed = (error: unknown): void => {
    throw error;
  };
  const options = { path: join(folder, 'store.db'), durable: 'process', cacheBytes: 1_000_000, onFailed } as const;
  let close = (): void => undefined;
  onTestFinished(() => close());
  const start = async (limitBytes: number) => {
    close();
    const store = new SqliteRecordStore({ ...options, now: clock.now });
    close = store.close;
    const budget = createByteBudget({ limitBytes });
    const keys = store.keys(callKind.name);
    return { records: await openEmbeddedCalls(store, clock.now, { keys, budget }), budget };
  };
  return { clock, start };
};

test('after a restart calls that have not ended are due at once, whoever held them, and hold memory beyond the limit', async () => {
  const { start, clock } = await makeFile();
  const { records: before } = await start(1_000_000);
  const session = { sessionKey: 'tenant:of-a-restart', keyHash: 'a'.repeat(64) };
  const waiting = await accept(before, session);
  const begun = await accept(before, session);
  const ended = await accept(before, session);
  const { lease } = await take(before, begun);
  await before.begin(lease);
  await before.commit((await take(before, ended)).lease, '{"value":1}', SURE);
  const unconfirmed = createCallSpec(session);
  await before.create(unconfirmed.key, unconfirmed.spec);

  const { records, budget } = await start(1000);
  expect(budget.inUse()).toBeGreaterThan(2 * 900);
  expect((await records.due(10)).toSorted()).toEqual([waiting, begun].toSorted());
  expect((await records.sessions.list(session.sessionKey)).toSorted()).toEqual([waiting, begun].toSorted());
  const listed = (await Array.fromAsync(records.live.list())).flat();
  expect(listed).toContainEqual(expect.objectContaining({ key: begun, holder: `key:${session.keyHash}` }));
  // The worker that it had began it: the next one knows.
  const claim = await take(records, begun);
  expect(claim.record).toMatchObject({ begins: 1, state: 'queued', spec: { arguments: '{"a":1}' } });
  expect(await records.begin(lease)).toBe('lost');
  expect((await look(records, ended)).result).toBe('{"value":1}');
  await records.commit(claim.lease, '{}', SURE);
  await records.commit((await take(records, waiting)).lease, '{}', SURE);
  // Its maker died before it told anybody.
  clock.advance(60_001);
  expect(await records.due(10)).toEqual([]);
  expect(budget.inUse()).toBe(0);
});
