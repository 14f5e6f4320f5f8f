import { callKind } from '@recourse/background/calls/call-kind';
import { RecordDeliveries } from '@recourse/background/deliveries/record-deliveries';
import { roomyMemory } from '@recourse/test-support/roomy-memory.ts';
import { expect, test } from 'vitest';
import { createRecordEndedSessions } from '#src/sessions/ended-sessions.ts';
import { createIdempotencyStore } from '#src/sessions/idempotency/idempotency-store.ts';
import { createRecordPageTokens } from '#src/sessions/record-page-tokens.ts';
import { createSessionKind } from '#src/sessions/session-kind.ts';
import { OpenedStoreSpace } from '#src/sessions/store-space.ts';
import { createStoreCheck } from '#src/store/guarded-record-store.ts';
import { createMemoryRecordStore } from '#src/store/memory-record-store.ts';
import { FEW_KNOWN, type RecordStore } from '#src/store/record-store.ts';

test('what a process remembers of the records of all kinds has one bound: their parts of it are no more than the whole', () => {
  const memory = createMemoryRecordStore({ memory: roomyMemory(), now: () => 0 });
  const parts = new Map<string, number>();
  const store: RecordStore = {
    ...memory,
    open: (kind) => {
      parts.set(kind.name, kind.knownPart ?? FEW_KNOWN);
      return memory.open(kind);
    },
  };
  const observer = { filled: () => undefined, notKept: () => undefined };
  store.open(createSessionKind(1000));
  store.open(callKind);
  createIdempotencyStore({ store, durability: 'durable' });
  createRecordPageTokens({ store, local: null, ttlMs: 1000 });
  createRecordEndedSessions({ store, ttlMs: 1000 });
  new RecordDeliveries({ store, survives: 'nothing' });
  createStoreCheck(store);
  new OpenedStoreSpace({ store, look: () => null, observer, onFailed: () => undefined });

  expect([...parts.keys()].sort()).toEqual([
    ...['answer', 'call', 'check', 'ended', 'endpoint'],
    ...['keyed', 'message', 'pages', 'session', 'share'],
  ]);
  expect([...parts.values()].reduce((sum, part) => sum + part, 0)).toBeLessThanOrEqual(1);
});
