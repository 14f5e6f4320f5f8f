import { expect, test } from 'vitest';
import type { Streak } from '#src/executor/session-store.ts';
import { createSessionState } from '#src/sessions/rules/session-state.ts';
import { createSessionKind } from '#src/sessions/session-kind.ts';
import { toFields } from '#src/store/redis-record.ts';

const kind = createSessionKind(60_000);

test('a session that was fetched weighs what it weighed where it was written', () => {
  const written = { ...kind.create(), session: createSessionState('first') };
  const streaks = new Map<number, Streak>([
    [1, { failed: 0, same: 1, answer: 7 }],
    [2 ** 53 - 1, { failed: 0, same: 2, answer: 8 }],
  ]);
  for (const tool of ['x', 'y']) written.session.streaks.set(tool, { before: streaks, step: 0, endings: new Map() });
  const { set } = kind.changes(written, kind.toSaved(kind.create(), new Map()));
  const fetched = kind.decode(toFields(set));
  const weight = kind.bytes(fetched);
  expect(weight).toBe(kind.bytes(written));
  expect(fetched.session?.streaks.get('x')).toMatchObject({ packed: 2, before: streaks });
  fetched.bytes = 0;
  expect(kind.bytes(fetched)).toBe(weight);
});
