import { expect, test } from 'vitest';
import { adoptRun } from '#src/effects/effect-decisions.ts';
import type { StoredEffect } from '#src/effects/effect-kind.ts';

test('a write of which a mark alone was left may have begun as long ago as marks are kept', () => {
  const stored: StoredEffect = { effect: null };
  const failure = { code: 'outcome_unknown', message: '', type: '', isCharged: false } as const;
  adoptRun({ creation: '', spec: '', timeoutMs: 1000, failure })(stored, 86_400_000 + 5);
  expect(stored.effect).toMatchObject({ startedAt: 5, openedAt: 86_400_005, actsUntil: 86_402_005 });
});
