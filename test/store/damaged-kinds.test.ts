import { callKind } from '@recourse/background/calls/call-kind';
import { createMessageKind, endpointKind } from '@recourse/background/deliveries/delivery-kinds';
import { expect, test } from 'vitest';
import { answerKind, idempotencyKind } from '#src/sessions/idempotency/idempotency-kinds.ts';
import { createSessionKind } from '#src/sessions/session-kind.ts';
import { type Kind, toFields, toTtlMs } from '#src/store/record-store.ts';

const NOW = 1_800_000_000_000;

const DAMAGED = [
  ...[
    '',
    '{"broken',
    '{}',
    '[]',
    'null',
    '-1',
    '1e999',
    'NaN',
    '1 = ',
    '1 = name',
    'sealed:1:',
    'sealed:1:k1:AAAA',
    '\u0000',
  ],
  ...['1 a b c 999999999999999 999999999999999 body', '9999999999999999 1 x', '['.repeat(5000), 'x'.repeat(100_000)],
  '{"format":1,"state":"queued","begins":0,"cancel":"no","lackedSince":null,"fence":0,"leaseEndsAt":1e300,"confirmed":true,"tries":1,"unknown":false,"createdAt":1e300,"lifeMs":1e300,"endedAt":-1e300}',
  '{"record":"r","life":"l","calls":1e9,"own":[[0,"x"]]}',
];

/** Reads damaged fields as each backend does, and saves what was made of them. */
const readAndSave = <State, Saved>(kind: Kind<State, Saved>, names: readonly string[], text: string): void => {
  for (const some of [names, ...names.map((name) => [name])]) {
    const fields = toFields(['v', 'version', ...some.flatMap((name) => [name, text])]);
    const state = kind.decode(fields);
    kind.refresh?.(state, kind.toSaved(state, fields), fields);
    kind.changes(state, kind.toSaved(state, fields));
    kind.takeAdded(state);
    const ttlMs = toTtlMs(kind, state, NOW);
    // As a number that Redis takes.
    expect(String(ttlMs)).toMatch(/^\d{1,12}$/);
    expect(kind.bytes(state)).toBeGreaterThanOrEqual(0);
  }
};

test('a record of any kind is read whatever its fields say, and ends', () => {
  for (const text of DAMAGED) {
    readAndSave(callKind, ['h', 's', 'a', 'p', 'r'], text);
    readAndSave(idempotencyKind, ['h', 'p', 'r:0', 'r:x', 'r:'], text);
    readAndSave(answerKind, ['a'], text);
    readAndSave(
      createMessageKind(() => undefined),
      ['h', 'b'],
      text,
    );
    readAndSave(endpointKind, ['d'], text);
    readAndSave(createSessionKind(60_000), ['h', 'n', 'c', 'j', 'q', 'o', 't:x', 's:x'], text);
  }
});
