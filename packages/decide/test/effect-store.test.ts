import { createDueIndex } from '@recourse/background/jobs/due-index';
import { createActor } from '@recourse/test-support/keyed-client.ts';
import { roomyMemory } from '@recourse/test-support/roomy-memory.ts';
import type { Write } from 'recourse-server/executor/reconciler';
import { createMemoryRecordStore } from 'recourse-server/store/memory-record-store';
import { NO_SEALING } from 'recourse-server/store/seals';
import { expect, test } from 'vitest';
import { effectKeyOf } from '#src/effects/effect-kind.ts';
import { EffectStore } from '#src/effects/effect-store.ts';

const { tool } = createActor('pay', { effects: 'write' });
const WRITE: Write = {
  ...{ effectId: 'e_1', tool, input: {}, tenant: 'acme', caller: null, holder: 'acme', requestId: 'r', batchId: 'b' },
  ...{ sessionKey: null, index: 0, id: null, name: 'pay', places: [], handle: null, ticket: null, notify: null },
  ...{ timeoutMs: 1000, traceId: null },
};
const FAILURE = { code: 'outcome_unknown', message: '', type: 'outcome_unknown', isCharged: false } as const;

test('who repeats a write whose process has died does not put off when others look for it', async () => {
  let now = 1000;
  const clock = () => now;
  const effects = new EffectStore({
    store: createMemoryRecordStore({ memory: roomyMemory(), now: clock }),
    live: createDueIndex({ limits: { ofHolder: 10, ofAll: 10 }, now: clock }),
    sealing: NO_SEALING,
  });
  await effects.begin(WRITE);
  // Its lease has lapsed.
  now += 5100;
  await effects.adopt(WRITE, FAILURE);
  expect((await effects.live.popDue(10, 1000)).entries).toMatchObject([{ key: effectKeyOf(WRITE) }]);
});
