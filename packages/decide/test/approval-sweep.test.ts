import { createDueIndex } from '@recourse/background/jobs/due-index';
import { openMemoryRecords } from '@recourse/test-support/record-stores-under-test.ts';
import { NO_SEALING } from 'recourse-server/store/seals';
import { expect, test } from 'vitest';
import { type ApprovalSpec, approvalKeyOf } from '#src/approvals/approval-kind.ts';
import { ApprovalStore, approvalIdOfHandle } from '#src/approvals/approval-store.ts';
import { createApprovalSweep } from '#src/approvals/approval-sweep.ts';

const HALF_AN_HOUR_MS = 30 * 60_000;
const DIGEST = `sha256:${'0'.repeat(64)}`;
const SPEC: ApprovalSpec = {
  ...{ tenant: 'acme', tool: 'pay', effects: 'write', digest: DIGEST, arguments: '{}', sessionKey: null },
  ...{ key: null, keyHash: null, caller: null, requestId: 'r', index: 0, handle: 'c_1', ticket: null },
  ...{ summary: 'pay', by: ['operator'], fourEyes: false, mayEdit: false, expiresMs: HALF_AN_HOUR_MS },
};

const ask = async () => {
  const { store: records, pass } = openMemoryRecords();
  let now = 0;
  const live = createDueIndex({ limits: { ofHolder: 10, ofAll: 10 }, now: () => now });
  const store = new ApprovalStore({ store: records, live, sealing: NO_SEALING });
  const told: string[] = [];
  const sweep = createApprovalSweep({
    store,
    releasePending: async (_tenant, handle) => {
      told.push(handle);
      return 'told';
    },
    onExpired: () => undefined,
    onFailed: (error) => {
      throw error;
    },
  });
  const id = approvalIdOfHandle('acme', 'c_1');
  await store.ask(id, SPEC, 'anew');
  const key = approvalKeyOf('acme', id);
  const sweepAfter = async (ms: number) => {
    now += ms;
    pass(ms);
    await sweep.sweepOnce();
    return told;
  };
  return { store, key, sweepAfter };
};

// Whoever took the decision died before it told the call.
test.each(['decided', 'withdrawn'] as const)(
  'a sweep tells a call within a second that its approval was %s',
  async (how) => {
    const { store, key, sweepAfter } = await ask();
    expect(await sweepAfter(1000)).toEqual([]);
    const found = await store.find(key);
    const verdict = { decision: 'approve', digest: DIGEST, arguments: null, by: null, reason: null } as const;
    if (found === null) throw new Error('It was asked for.');
    if (how === 'decided') await store.decide(found, DIGEST, { state: 'granted', verdict });
    else await store.withdraw(key, 'cancelled');
    expect(await sweepAfter(1000)).toEqual(['c_1']);
    expect(await sweepAfter(HALF_AN_HOUR_MS)).toEqual(['c_1']);
  },
);

test('one that still waits when the sweep comes is looked at again when its time is over', async () => {
  const { store, key, sweepAfter } = await ask();
  const found = await store.find(key);
  if (found === null) throw new Error('It was asked for.');
  const verdict = { decision: 'approve', digest: DIGEST, arguments: null, by: null, reason: null } as const;
  // Who decides has read another digest, or dies before the decision is kept.
  await store.decide(found, `sha256:${'1'.repeat(64)}`, { state: 'granted', verdict });
  expect(await sweepAfter(1000)).toEqual([]);
  expect(await sweepAfter(HALF_AN_HOUR_MS)).toEqual(['c_1']);
});
