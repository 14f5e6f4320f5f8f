import { createDueIndex } from '@recourse/background/jobs/due-index';
import { createActor } from '@recourse/test-support/keyed-client.ts';
import { roomyMemory } from '@recourse/test-support/roomy-memory.ts';
import { createSealing } from '@recourse/test-support/sealing.ts';
import type { Write } from 'recourse-server/executor/reconciler';
import { createMemoryRecordStore } from 'recourse-server/store/memory-record-store';
import { NO_SEALING } from 'recourse-server/store/seals';
import { expect, test } from 'vitest';
import { effectKeyOf } from '#src/effects/effect-kind.ts';
import { EffectStore } from '#src/effects/effect-store.ts';
import { Looker } from '#src/looker.ts';
import { createSweep } from '#src/sweep.ts';

const { tool } = createActor('pay', { effects: 'write' });
const WRITE: Write = {
  ...{ effectId: 'e_1', tool, input: {}, tenant: 'acme', caller: null, holder: 'acme', requestId: 'r', batchId: 'b' },
  ...{
    sessionKey: null,
    index: 0,
    id: null,
    name: 'pay',
    places: [],
    handle: null,
    ticket: null,
    grant: null,
    notify: null,
  },
  ...{ timeoutMs: 1000 },
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

test('an effect that is sealed with a key which a process lacks stays among those that others look for', async () => {
  let { seals } = createSealing(['k1']);
  const live = createDueIndex({ limits: { ofHolder: 10, ofAll: 10 }, now: () => 1000 });
  const effects = new EffectStore({
    ...{ store: createMemoryRecordStore({ memory: roomyMemory(), now: () => 1000 }), live },
    // Records in memory are those of one store: it becomes another process by its keys.
    sealing: {
      get seals() {
        return seals;
      },
      onUnopened: () => undefined,
    },
  });
  await effects.begin(WRITE);
  ({ seals } = NO_SEALING);
  const ignore = (): void => undefined;
  const redactor = { value: (json: string) => json, cutToolText: (text: string) => text };
  const { look } = createSweep({
    ...{ effects, findCheck: () => null, apply: async () => undefined, onFailed: ignore, isCovered: () => true },
    ...{ sampled: ignore, time: () => 1000 },
    looker: new Looker({ delays: [1000], redactor, looked: ignore, onProblem: ignore }),
  });
  const key = effectKeyOf(WRITE);
  const list = async () => (await Array.fromAsync(live.list())).flat().map((entry) => entry.key);
  await look(key);
  expect(await list()).toEqual([key]);
  await effects.withdraw(key, 1);
  await look(key);
  expect(await list()).toEqual([]);
});
