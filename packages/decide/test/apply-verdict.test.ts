import { createDueIndex } from '@recourse/background/jobs/due-index';
import { createActor } from '@recourse/test-support/keyed-client.ts';
import { roomyMemory } from '@recourse/test-support/roomy-memory.ts';
import type { Write } from 'recourse-server/executor/reconciler';
import { createMemoryRecordStore } from 'recourse-server/store/memory-record-store';
import { NO_SEALING } from 'recourse-server/store/seals';
import { expect, test } from 'vitest';
import { createApply } from '#src/apply-verdict.ts';
import { effectKeyOf } from '#src/effects/effect-kind.ts';
import { EffectStore } from '#src/effects/effect-store.ts';

const { tool } = createActor('pay', { effects: 'write' });
const WRITE: Write = {
  ...{ effectId: 'e_1', tool, input: {}, tenant: 'acme', caller: null, holder: 'acme', requestId: 'r', batchId: 'c_1' },
  ...{
    sessionKey: null,
    index: 0,
    id: null,
    name: 'pay',
    places: [],
    handle: 'c_1',
    ticket: null,
    grant: null,
    notify: null,
  },
  ...{ timeoutMs: 1000 },
};
const FOUND = { verdict: 'happened', by: 'person', valueJson: '5', message: '', problem: null, reason: null } as const;
const FAILURE = { code: 'outcome_unknown', message: '', type: 'outcome_unknown', isCharged: false } as const;

test('what was found of a pending call is put into its record again until the call has ended', async () => {
  let now = 1000;
  const clock = () => now;
  const effects = new EffectStore({
    store: createMemoryRecordStore({ memory: roomyMemory(), now: clock }),
    live: createDueIndex({ limits: { ofHolder: 10, ofAll: 10 }, now: clock }),
    sealing: NO_SEALING,
  });
  const key = effectKeyOf(WRITE);
  await effects.adopt(WRITE, FAILURE);
  const settled = await effects.settleByHand(key, 1, FOUND);
  if (settled.kind !== 'settled') throw new Error(settled.kind);
  const ends = [false, true];
  const applied: string[] = [];
  const apply = createApply({
    ...{
      effects,
      keys: { settle: async () => undefined },
      settlePending: async () => ends.shift() ?? true,
      time: clock,
    },
    ...{ sessions: { resume: () => expect.fail() }, webhooks: { emit: () => expect.fail() } },
    redactor: { cut: (text) => text },
    settleGrant: async () => undefined,
    onApplied: ({ tool: name }) => applied.push(name),
  });
  await apply(key, settled.effect);
  expect(applied).toEqual([]);
  now += 1000;
  expect((await effects.live.popDue(10, 1000)).entries).toMatchObject([{ key, holder: 'acme' }]);
  await apply(key, settled.effect);
  expect(applied).toEqual(['pay']);
});
