import {
  accept,
  type CallRecordsUnderTest,
  type CreateCallRecordsUnderTest,
  createCallSpec,
  LATE,
  look,
  SURE,
  take,
  UNKNOWN,
} from '@recourse/test-support/call-records-under-test.ts';
import { describe, expect, test } from 'vitest';
import type { CallRecords } from '#src/calls/call-records.ts';
import { describeCallParts } from './describe-call-parts.ts';
import { describeSameCalls } from './describe-same-calls.ts';

/** What all records of pending calls promise. */
export const describeCallRecords = (name: string, createRecords: CreateCallRecordsUnderTest): void => {
  describe(name, () => {
    describeCreating(createRecords);
    describeHolding(createRecords);
    describeEnding(createRecords);
    describeCancelling(createRecords);
    describeFinding(createRecords);
    describeLapsing(createRecords);
    describeSameCalls(createRecords);
    describeLimits(createRecords);
    describeCallParts(createRecords);
  });
};

const describeCreating = (createRecords: CreateCallRecordsUnderTest): void => {
  test('a call that was accepted is found as it was written, and waits', async () => {
    const { records } = await createRecords();
    const { key, spec } = createCallSpec({ arguments: '{"text":"ü \\ud800 😀"}', id: 7, ticket: 'ticket' });
    expect(await records.create(key, spec)).toEqual({ kind: 'created' });
    await records.confirm(key);
    const { spec: found, state, begins, cancel, progress, result } = await look(records, key);
    expect(found).toEqual(spec);
    expect({ state, begins, cancel, progress, result }).toEqual({
      state: 'queued',
      begins: 0,
      cancel: 'no',
      progress: null,
      result: null,
    });
  });

  test('of fifty that create one record at once exactly one does, and an earlier one is not touched', async () => {
    const { records } = await createRecords();
    const { key, spec } = createCallSpec();
    const creations = await Promise.all(Array.from({ length: 50 }, () => records.create(key, spec)));
    expect(creations.filter(({ kind }) => kind === 'created')).toHaveLength(1);
    expect(creations.filter(({ kind }) => kind === 'exists')).toHaveLength(49);
    expect(await records.create(key, { ...spec, arguments: '{"a":2}' })).toEqual({ kind: 'exists' });
    expect(await look(records, key)).toMatchObject({ spec: { arguments: '{"a":1}' } });
  });

  test('of a call that nobody accepted nothing is known', async () => {
    const { records } = await createRecords();
    const { key, spec } = createCallSpec();
    await records.confirm(key);
    expect(await records.find(key)).toBeNull();
    expect(await records.claim(key)).toEqual({ kind: 'gone' });
    expect(await records.cancel(key, 'asked')).toBeNull();
    const lease = { key, fence: 1, spec, creation: '' };
    expect(await records.begin(lease)).toBe('lost');
    expect(await records.renew(lease, null)).toEqual({ state: 'lost', cancel: 'no' });
    expect(await records.commit(lease, '{}', SURE)).toBe('lost');
    await records.release(lease);
    expect(await records.find(key)).toBeNull();
  });

  test('a record that is not confirmed is in no list, is never due, and is gone after a minute', async () => {
    const { records, passLook, passMinute } = await createRecords();
    const { key, spec } = createCallSpec();
    await records.create(key, spec);
    expect(await records.sessions.list(spec.sessionKey ?? '')).toEqual([]);
    expect(await records.sessions.findSame(spec.sessionKey ?? '', spec.fingerprint)).toBeNull();
    await passLook();
    expect(await records.due(10)).toEqual([]);
    await passMinute(key);
    expect(await records.find(key)).toBeNull();
    expect(await records.create(key, spec)).toEqual({ kind: 'created' });
    await records.confirm(key);
    await passMinute(key);
    expect((await look(records, key)).state).toBe('queued');
  });

  test('a tenant does not find the call of another by its handle', async () => {
    const { records } = await createRecords();
    const key = await accept(records, { tenant: 'one' });
    const strange = key.replace('one:', 'other:');
    expect(await records.find(strange)).toBeNull();
    expect(await records.claim(strange)).toEqual({ kind: 'gone' });
    expect(await records.cancel(strange, 'forced')).toBeNull();
    expect((await look(records, key)).cancel).toBe('no');
  });
};

const describeHolding = (createRecords: CreateCallRecordsUnderTest): void => {
  test('of fifty workers that claim a call at once exactly one holds it, and the others hear for how long', async () => {
    const { records } = await createRecords();
    const key = await accept(records);
    const claims = await Promise.all(Array.from({ length: 50 }, () => records.claim(key)));
    expect(claims.filter(({ kind }) => kind === 'held')).toHaveLength(1);
    const waits = claims.flatMap((claim) => (claim.kind === 'busy' ? [claim.retryAfterMs] : []));
    expect(waits).toHaveLength(49);
    expect(Math.min(...waits)).toBeGreaterThan(0);
    expect(Math.max(...waits)).toBeLessThanOrEqual(10_000);
  });

  test('the next worker is told that an earlier one had begun, and the earlier one can write nothing any more', async () => {
    const { records, lapse } = await createRecords();
    const key = await accept(records);
    const first = await take(records, key);
    expect(await records.begin(first.lease)).toBe('held');
    expect((await look(records, key)).state).toBe('running');
    await lapse(key);
    const second = await take(records, key);
    expect(second.record).toMatchObject({ begins: 1, state: 'queued' });
    expect(second.lease.fence).toBeGreaterThan(first.lease.fence);
    expect(await records.begin(first.lease)).toBe('lost');
    expect(await records.renew(first.lease, { done: 9, total: 9, message: 'late' })).toEqual({
      state: 'lost',
      cancel: 'no',
    });
    await records.release(first.lease);
    expect(await records.commit(first.lease, '{"from":"first"}', SURE)).toBe('lost');
    expect(await records.commit(first.lease, '{"from":"first"}', LATE)).toBe('lost');
    expect(await look(records, key)).toMatchObject({ begins: 1, progress: null, result: null });
    expect(await records.commit(second.lease, '{"from":"second"}', SURE)).toBe('held');
    expect((await look(records, key)).result).toBe('{"from":"second"}');
  });

  test('a worker whose lease has run out goes on as long as no other has taken the call', async () => {
    const { records, lapse } = await createRecords();
    const key = await accept(records);
    const { lease } = await take(records, key);
    await lapse(key);
    expect(await records.begin(lease)).toBe('held');
    await lapse(key);
    expect((await records.renew(lease, null)).state).toBe('held');
    expect((await records.claim(key)).kind).toBe('busy');
    await lapse(key);
    expect(await records.commit(lease, '{}', SURE)).toBe('held');
  });

  test('beginning twice under one lease counts once, and giving back takes back what this worker began', async () => {
    const { records, lapse } = await createRecords();
    const key = await accept(records);
    const first = await take(records, key);
    await records.begin(first.lease);
    await records.begin(first.lease);
    expect((await look(records, key)).begins).toBe(1);
    await lapse(key);
    const second = await take(records, key);
    await records.release(second.lease);
    // What the first one began is not undone by the second one.
    expect(await look(records, key)).toMatchObject({ begins: 1, state: 'queued' });
    const third = await take(records, key);
    await records.begin(third.lease);
    expect((await look(records, key)).begins).toBe(2);
    await records.release(third.lease);
    expect(await look(records, key)).toMatchObject({ begins: 1, state: 'queued' });
    expect((await records.claim(key)).kind).toBe('held');
  });

  test('it is known since when workers lack the tool of a call, until one gives it back for another reason', async () => {
    const { records } = await createRecords();
    const key = await accept(records);
    expect((await look(records, key)).lackedSince).toBeNull();
    for (const lackedAt of [1_800_000_000_123, 1_800_000_005_123]) {
      await records.release((await take(records, key)).lease, lackedAt);
      expect((await look(records, key)).lackedSince).toBe(1_800_000_000_123);
    }
    const { lease, record } = await take(records, key);
    expect(record.lackedSince).toBe(1_800_000_000_123);
    await records.release({ ...lease, fence: lease.fence - 1 });
    expect((await look(records, key)).lackedSince).toBe(1_800_000_000_123);
    await records.release(lease);
    expect((await look(records, key)).lackedSince).toBeNull();
  });

  test('a call says how far it is, and renewing without news keeps what it said', async () => {
    const { records } = await createRecords();
    const key = await accept(records);
    const { lease } = await take(records, key);
    await records.begin(lease);
    expect(await records.renew(lease, { done: 3, total: 10, message: 'building' })).toEqual({
      state: 'held',
      cancel: 'no',
    });
    await records.renew(lease, null);
    expect((await look(records, key)).progress).toEqual({ done: 3, total: 10, message: 'building' });
    await records.renew(lease, { done: 0.5, total: null, message: null });
    expect((await look(records, key)).progress).toEqual({ done: 0.5, total: null, message: null });
  });
};

const describeEnding = (createRecords: CreateCallRecordsUnderTest): void => {
  test('a call ends once: nobody takes it any more, and no second end replaces the first', async () => {
    const { records } = await createRecords();
    const key = await accept(records);
    const { lease } = await take(records, key);
    await records.begin(lease);
    expect(await records.commit(lease, '{"value":1}', SURE)).toBe('held');
    expect(await records.commit(lease, '{"value":2}', SURE)).toBe('lost');
    expect(await records.commit(lease, '{"value":3}', LATE)).toBe('lost');
    expect(await records.claim(key)).toEqual({ kind: 'ended' });
    expect(await records.begin(lease)).toBe('lost');
    await records.release(lease);
    expect((await records.renew(lease, null)).state).toBe('lost');
    expect(await look(records, key)).toMatchObject({ state: 'ended', result: '{"value":1}' });
  });

  test('what an ended call was asked with is not kept', async () => {
    const { records } = await createRecords();
    const key = await accept(records);
    await records.commit((await take(records, key)).lease, '{}', SURE);
    expect(await look(records, key)).toMatchObject({ spec: { arguments: '' } });
  });

  test('what a check finds replaces the end that nobody knew, once there is one, and no other', async () => {
    const { records } = await createRecords();
    const key = await accept(records);
    const { lease } = await take(records, key);
    await records.begin(lease);
    expect(await records.settle(key, '"found"')).toBe(false);
    await records.commit(lease, '"unknown"', UNKNOWN);
    expect(await records.settle(key, '"found"')).toBe(true);
    expect(await records.settle(key, '"found otherwise"')).toBe(true);
    expect(await look(records, key)).toMatchObject({ state: 'ended', result: '"found"' });
    expect(await records.settle('nobody:c_none', '"found"')).toBe(true);
  });

  test('a late end replaces what a check has found where that says that the call had no effect, and then no other does', async () => {
    const { records } = await createRecords();
    const key = await accept(records);
    const { lease } = await take(records, key);
    await records.begin(lease);
    await records.commit(lease, '{"outcome":"unknown"}', UNKNOWN);
    const about = { message: '', outcome: 'retry', executed: 'no', reconciled: {} };
    const error = { code: 'timeout', type: 'timeout', fatal: false };
    await records.settle(key, JSON.stringify({ ...about, error }));
    expect(await records.commit(lease, '"late"', LATE)).toBe('held');
    expect(await records.settle(key, '"found"')).toBe(true);
    expect(await look(records, key)).toMatchObject({ state: 'ended', result: '"late"' });
  });

  test('a late end replaces a result that nobody knew, and then no other does', async () => {
    const { records, lapse } = await createRecords();
    const key = await accept(records);
    const frozen = await take(records, key);
    await records.begin(frozen.lease);
    await lapse(key);
    const next = await take(records, key);
    expect(await records.commit(next.lease, '{"outcome":"unknown"}', UNKNOWN)).toBe('held');
    expect(await records.commit(frozen.lease, '{"outcome":"success"}', SURE)).toBe('lost');
    expect((await look(records, key)).result).toBe('{"outcome":"unknown"}');
    expect(await records.commit(frozen.lease, '{"outcome":"success"}', LATE)).toBe('held');
    expect((await look(records, key)).result).toBe('{"outcome":"success"}');
    expect(await records.commit(frozen.lease, '{"outcome":"error"}', LATE)).toBe('lost');
    expect((await look(records, key)).result).toBe('{"outcome":"success"}');
  });

  test('a result is kept for a day after its end', async () => {
    const { records, passDay } = await createRecords();
    const key = await accept(records);
    await records.commit((await take(records, key)).lease, '{"value":1}', SURE);
    expect((await look(records, key)).result).toBe('{"value":1}');
    await passDay(key);
    expect(await records.find(key)).toBeNull();
  });
};

const describeCancelling = (createRecords: CreateCallRecordsUnderTest): void => {
  test('a wish to cancel is kept, the stronger one wins, and the worker hears of it when it renews', async () => {
    const { records } = await createRecords();
    const key = await accept(records);
    const { lease } = await take(records, key);
    expect((await records.cancel(key, 'asked'))?.cancel).toBe('asked');
    expect((await records.renew(lease, null)).cancel).toBe('asked');
    expect((await records.cancel(key, 'forced'))?.cancel).toBe('forced');
    expect((await records.cancel(key, 'asked'))?.cancel).toBe('forced');
    expect(await records.renew(lease, null)).toEqual({ state: 'held', cancel: 'forced' });
    expect((await look(records, key)).cancel).toBe('forced');
  });

  test('a worker that takes a cancelled call is told so, and one that has ended is only told', async () => {
    const { records } = await createRecords();
    const key = await accept(records);
    await records.cancel(key, 'asked');
    const { lease, record } = await take(records, key);
    expect(record.cancel).toBe('asked');
    await records.commit(lease, '{"value":1}', SURE);
    expect(await records.cancel(key, 'forced')).toMatchObject({
      state: 'ended',
      cancel: 'asked',
      result: '{"value":1}',
    });
  });

  test('who watches hears of an end, of progress and of a cancellation, until it stops', async () => {
    const { records } = await createRecords();
    const key = await accept(records);
    const other = await accept(records);
    const heard: string[] = [];
    // What an earlier test did may be heard late, from another node.
    const stop = records.signals.watch((one) => void ((one === key || one === other) && heard.push(one)));
    const { lease } = await take(records, key);
    await records.renew(lease, { done: 1, total: null, message: null });
    await records.cancel(key, 'asked');
    await records.commit(lease, '{}', SURE);
    await expect.poll(() => heard).toEqual([key, key, key]);
    await records.cancel(other, 'asked');
    await expect.poll(() => heard.at(-1)).toBe(other);
    stop();
    await records.cancel(other, 'forced');
    await look(records, other);
    expect(heard).toHaveLength(4);
  });
};

const describeFinding = (createRecords: CreateCallRecordsUnderTest): void => {
  test('the calls of a session that have not ended', async () => {
    const { records } = await createRecords();
    const sessionKey = `tenant:session-of-${createCallSpec().key}`;
    expect(await records.sessions.list(sessionKey)).toEqual([]);
    const first = await accept(records, { sessionKey });
    const second = await accept(records, { sessionKey });
    await accept(records);
    expect((await records.sessions.list(sessionKey)).toSorted()).toEqual([first, second].toSorted());
    await records.commit((await take(records, first)).lease, '{}', SURE);
    expect(await records.sessions.list(sessionKey)).toEqual([second]);
  });

  test('a call without a session has none', async () => {
    const { records } = await createRecords();
    const key = await accept(records, { sessionKey: null });
    expect(await look(records, key)).toMatchObject({ spec: { sessionKey: null } });
    expect(await records.commit((await take(records, key)).lease, '{}', SURE)).toBe('held');
  });

  test('a call that nobody looks at is due once in a while, and at most so many at once', async () => {
    const { records, passLook } = await createRecords();
    const keys = new Set<string>();
    for (let count = 0; count < 5; count += 1) keys.add(await accept(records));
    expect(await records.due(10)).toEqual([]);
    await passLook();
    const [some, others] = await Promise.all([records.due(3), records.due(3)]);
    expect(some).toHaveLength(3);
    expect(others).toHaveLength(2);
    expect(new Set([...some, ...others])).toEqual(keys);
    expect(await records.due(10)).toEqual([]);
    await passLook();
    expect(await records.due(10)).toHaveLength(5);
  });

  test('a call that a worker holds is not due, one whose worker died is, and one that has ended never', async () => {
    const { records, passLook, lapse } = await createRecords();
    const dead = await accept(records);
    const ended = await accept(records);
    const held = await accept(records);
    await take(records, dead);
    await records.commit((await take(records, ended)).lease, '{}', SURE);
    const { lease } = await take(records, held);
    await passLook();
    await lapse(dead);
    await records.renew(lease, null);
    expect(await records.due(10)).toEqual([dead]);
  });
};

const describeLapsing = (createRecords: CreateCallRecordsUnderTest): void => {
  /** Sweeps once a second until a call is due, for so many seconds at most. */
  const sweep = async ({ records, pass }: CallRecordsUnderTest, seconds: number): Promise<readonly string[]> => {
    for (let second = 0; second < seconds; second += 1) {
      await pass(1000);
      const due = await records.due(10);
      if (due.length > 0) return due;
    }
    return [];
  };

  test('a lease that nobody renews is due a second after it has lapsed, and who takes the call is told that it is taken over', async () => {
    const lab = await createRecords();
    const { records } = lab;
    const [dead, held] = [await accept(records), await accept(records)];
    const { isTakenOver } = await take(records, dead);
    expect(isTakenOver).toBe(false);
    const { lease } = await take(records, held);
    expect(await sweep(lab, 4)).toEqual([]);
    await records.renew(lease, null);
    expect(await sweep(lab, 2)).toEqual([dead]);
    expect((await take(records, dead)).isTakenOver).toBe(true);
    await records.release(lease);
    expect((await take(records, held)).isTakenOver).toBe(false);
  });

  test('a process that has not swept for over two seconds, or whose store was away, takes no lease before one lease has passed', async () => {
    const listeners: (() => void)[] = [];
    const lab = await createRecords({ onReturn: (listener) => void listeners.push(listener) });
    const { records, pass } = lab;
    const key = await accept(records);
    const { lease } = await take(records, key);
    const gaps = [
      () => pass(8000),
      async () => {
        await sweep(lab, 3);
        for (const tellReturn of listeners) tellReturn();
        await pass(1900);
      },
    ];
    for (const makeGap of gaps) {
      await sweep(lab, 1);
      await makeGap();
      expect(await records.due(10)).toEqual([]);
      expect(await records.claim(key)).toEqual({ kind: 'busy', retryAfterMs: expect.toSatisfy((ms) => ms > 4000) });
      expect(await sweep(lab, 4)).toEqual([]);
      // Its owner lives.
      expect((await records.renew(lease, null)).state).toBe('held');
    }
    expect(await sweep(lab, 7)).toEqual([key]);
  });

  test('a call is looked at two seconds after it was made: whoever made it may have died before it was queued', async () => {
    const lab = await createRecords();
    const key = await accept(lab.records);
    expect(await sweep(lab, 1)).toEqual([]);
    expect(await sweep(lab, 2)).toEqual([key]);
    expect(await sweep(lab, 14)).toEqual([]);
    expect(await sweep(lab, 2)).toEqual([key]);
    const { spec } = await look(lab.records, key);
    // Its job could not be queued.
    if (spec !== null) lab.records.enterAgain(key, spec, 2000);
    expect(await sweep(lab, 2)).toEqual([key]);
  });
};

const describeLimits = (createRecords: CreateCallRecordsUnderTest): void => {
  test('a session has no more pending calls than it may, and room again when one has ended', async () => {
    const { records } = await createRecords({ limits: { ofSession: 2 } });
    const { spec } = createCallSpec();
    const { sessionKey } = spec;
    const first = await accept(records, { sessionKey });
    await accept(records, { sessionKey });
    const third = createCallSpec({ sessionKey });
    expect(await records.create(third.key, third.spec)).toEqual({ kind: 'full', of: 'session', limit: 2 });
    expect(await records.find(third.key)).toBeNull();
    await accept(records);
    await records.commit((await take(records, first)).lease, '{}', SURE);
    expect(await records.create(third.key, third.spec)).toEqual({ kind: 'created' });
  });

  test('the same for a caller, over all its sessions', async () => {
    const { records } = await createRecords({ limits: { ofKey: 2 } });
    const caller = `tenant:caller-of-${createCallSpec().key}`;
    const first = await accept(records, { caller });
    await accept(records, { caller, sessionKey: null });
    const third = createCallSpec({ caller });
    expect(await records.create(third.key, third.spec)).toEqual({ kind: 'full', of: 'key', limit: 2 });
    await accept(records);
    await records.commit((await take(records, first)).lease, '{}', SURE);
    await expect.poll(async () => (await records.create(third.key, third.spec)).kind).toBe('created');
  });

  test('the same for each API key: one that has as many as it may keeps none from another of its tenant', async () => {
    const { records } = await createRecords({ limits: { ofKey: 1 } });
    const caller = `tenant-of-${createCallSpec().key}`;
    const hashes = ['a', 'b'].map((letter) => letter.repeat(64));
    for (const keyHash of hashes) await accept(records, { caller, keyHash });
    for (const keyHash of hashes) {
      const { key, spec } = createCallSpec({ caller, keyHash });
      expect(await records.create(key, spec)).toEqual({ kind: 'full', of: 'key', limit: 1 });
    }
    await accept(records, { caller });
  });

  test('the same for the service, and a call that was refused takes no room', async () => {
    const { records } = await createRecords({ limits: { ofService: 2, ofSession: 1 } });
    const { spec } = createCallSpec();
    const { sessionKey } = spec;
    const first = await accept(records, { sessionKey });
    for (let count = 0; count < 5; count += 1) {
      const { key, spec: refused } = createCallSpec({ sessionKey });
      expect(await records.create(key, refused)).toEqual({ kind: 'full', of: 'session', limit: 1 });
    }
    await expect.poll(async () => (await records.create(...toPair())).kind).toBe('created');
    expect(await records.create(...toPair())).toEqual({ kind: 'full', of: 'service', limit: 2 });
    await records.commit((await take(records, first)).lease, '{}', SURE);
    await expect.poll(async () => (await records.create(...toPair())).kind).toBe('created');
  });

  test('of fifty that a session asks for at once as many are accepted as it may have', async () => {
    const { records } = await createRecords({ limits: { ofSession: 16 } });
    const { spec } = createCallSpec();
    const { sessionKey } = spec;
    const pairs = Array.from({ length: 50 }, () => createCallSpec({ sessionKey }));
    const creations = await Promise.all(pairs.map(({ key, spec: one }) => records.create(key, one)));
    expect(creations.filter(({ kind }) => kind === 'created')).toHaveLength(16);
    expect(creations.filter(({ kind }) => kind === 'full')).toHaveLength(34);
  });
};

const toPair = (): Parameters<CallRecords['create']> => {
  const { key, spec } = createCallSpec();
  return [key, spec];
};
