import type { Decide } from 'recourse-server/store/record-store';
import { describe, expect, test } from 'vitest';
import { createEnd } from '#src/checks.ts';
import {
  adoptRun,
  beginRun,
  claimLook,
  endLook,
  endRun,
  type Look,
  type LookEnd,
  markApplied,
  noteRunOver,
  openRun,
  renewRun,
  settleByHand,
  withdrawRun,
} from '#src/effects/effect-decisions.ts';
import type { StoredEffect, UnknownFailure } from '#src/effects/effect-kind.ts';

const FAILURE: UnknownFailure = { code: 'timeout', message: 'late', type: 'timeout', isCharged: false };
const RUN = { creation: 'c', spec: '{}', timeoutMs: 1000 };
const TERMS = { delays: [100, 200], afterMs: 0 };
const HAPPENED: LookEnd = { kind: 'found', end: createEnd('tool', 'happened', { value: 1 }) };
const DID_NOT: LookEnd = { kind: 'found', end: createEnd('tool', 'did_not_happen', {}) };
const UNCLEAR: LookEnd = { kind: 'unclear', retryAfterMs: null };
const SUCCEEDED = { executed: 'yes', end: createEnd('run', 'happened', { value: 2 }) } as const;
const REFUSED = { executed: 'no', end: null } as const;

/** A record, and decisions on it at times of the test. */
const createRecord = () => {
  const stored: StoredEffect = { effect: null };
  const at = <Result>(now: number, decide: Decide<StoredEffect, Result>): Result => decide(stored, now);
  const look = (now: number): Look => {
    const claim = at(now, claimLook(500, 0));
    if (claim.kind !== 'held') throw new Error(`The look was not taken: ${claim.kind}`);
    return claim.look;
  };
  return { at, look, effect: () => stored.effect };
};

/** A run that has begun at 0 and whose process died. */
const createDead = () => {
  const record = createRecord();
  expect(record.at(0, beginRun(RUN))).toEqual({ kind: 'held', fence: 1 });
  return record;
};

/** A run of which a look has said so at 6000. */
const createSettled = (found: LookEnd) => {
  const record = createDead();
  record.at(6000, endLook(record.look(6000), found, TERMS));
  expect(record.effect()).toMatchObject({ state: 'settled', fence: 2 });
  return record;
};

describe('none', () => {
  test('becomes running when a run begins', () => {
    expect(createDead().effect()).toMatchObject({ state: 'running', fence: 1, leaseEndsAt: 5000, actsUntil: 2000 });
  });

  test('becomes open where a mark alone was left, and its run may act until its time is over from now on', () => {
    const { at, effect } = createRecord();
    at(100, adoptRun({ ...RUN, failure: FAILURE }));
    expect(effect()).toMatchObject({ state: 'open', openedAt: 100, actsUntil: 2100, leaseEndsAt: 0, failure: FAILURE });
  });

  test('has nothing to look for, to settle or to end', () => {
    const { at, effect } = createRecord();
    expect(at(0, claimLook(500, 0))).toEqual({ kind: 'gone' });
    expect(at(0, settleByHand(1, createEnd('person', 'happened', {})))).toEqual({ kind: 'gone', fence: 0 });
    expect(at(0, endRun(1, SUCCEEDED))).toBe('ended');
    expect(at(0, markApplied(1))).toBe(false);
    expect(effect()).toBeNull();
  });
});

describe('running', () => {
  test('is gone when it is known how the run ended, or when it did not begin', () => {
    const ended = createDead();
    expect(ended.at(10, endRun(1, REFUSED))).toBe('ended');
    expect(ended.effect()).toBeNull();
    const withdrawn = createDead();
    expect(withdrawn.at(10, withdrawRun(1))).toBe(true);
    expect(withdrawn.effect()).toBeNull();
  });

  test('lets no other run begin, and no mark be adopted', () => {
    const { at, effect } = createDead();
    expect(at(9000, beginRun(RUN))).toEqual({ kind: 'lost' });
    at(9000, adoptRun({ ...RUN, failure: FAILURE }));
    expect(effect()).toMatchObject({ state: 'running', fence: 1 });
  });

  test('is not looked for, nor settled by hand, while a process holds it', () => {
    const { at } = createDead();
    at(3000, renewRun(1));
    expect(at(6000, claimLook(500, 0))).toEqual({ kind: 'busy', retryAfterMs: 2000 });
    expect(at(6000, settleByHand(1, createEnd('person', 'happened', {})))).toEqual({ kind: 'running', fence: 1 });
  });

  test('becomes open when nobody knows how it ended', () => {
    const { at, effect } = createDead();
    at(1000, openRun(1, FAILURE, false));
    expect(effect()).toMatchObject({ state: 'open', openedAt: 1000, leaseEndsAt: 5000, actsUntil: 2000 });
    at(1100, noteRunOver(1));
    expect(effect()).toMatchObject({ leaseEndsAt: 0, actsUntil: 1100 });
  });

  test('becomes open for who looks once its lease has lapsed, or once it is over, since then', () => {
    const lapsed = createDead();
    lapsed.look(6000);
    expect(lapsed.effect()).toMatchObject({ state: 'open', openedAt: 5000, attempts: 1, isRunOver: true });
    const over = createDead();
    over.at(1200, noteRunOver(1));
    over.look(1300);
    expect(over.effect()).toMatchObject({ state: 'open', openedAt: 1200, attempts: 1, isRunOver: true });
  });
});

describe('open', () => {
  test('is gone when its run ends after all', () => {
    const { at, effect } = createDead();
    at(1000, openRun(1, FAILURE, false));
    expect(at(1500, endRun(1, SUCCEEDED))).toBe('late');
    expect(effect()).toBeNull();
  });

  test('is looked at by one at a time, and by the next once that has taken too long, whose word then counts no more', () => {
    const { at, look } = createDead();
    const first = look(6000);
    expect(at(6100, claimLook(500, 0))).toEqual({ kind: 'busy', retryAfterMs: 400 });
    const second = look(6600);
    expect(second).toEqual({ fence: 1, attempt: 2 });
    expect(at(6700, endLook(first, HAPPENED, TERMS))).toEqual({ kind: 'overtaken' });
    expect(at(6700, endLook(second, HAPPENED, TERMS))).toMatchObject({ kind: 'settled' });
  });

  test('stays open while it is unclear, for as long as the delays or the check say', () => {
    const { at, look, effect } = createDead();
    expect(at(6000, endLook(look(6000), UNCLEAR, TERMS))).toEqual({ kind: 'unclear', nextMs: 100, isTooEarly: false });
    expect(effect()).toMatchObject({ state: 'open', checkEndsAt: 0, nextAt: 6100 });
    const asked: LookEnd = { kind: 'unclear', retryAfterMs: 7 };
    expect(at(7000, endLook(look(7000), asked, TERMS))).toMatchObject({ nextMs: 7 });
    expect(at(8000, endLook(look(8000), UNCLEAR, TERMS))).toMatchObject({ nextMs: 200 });
  });

  test('becomes settled when it happened, also while its run may act', () => {
    const { at, look, effect } = createDead();
    at(500, openRun(1, FAILURE, false));
    expect(at(600, endLook(look(600), HAPPENED, TERMS))).toMatchObject({ kind: 'settled' });
    expect(effect()).toMatchObject({ state: 'settled', fence: 2, isApplied: false, end: { verdict: 'happened' } });
  });

  test.each([
    ['a process holds its run', 3000],
    ['its time is not over, though its process is dead', 5500],
  ])('that it did not happen is too early while %s', (_why, now) => {
    const { at, look } = createRecord();
    at(0, beginRun({ ...RUN, timeoutMs: 8000 }));
    at(100, openRun(1, FAILURE, false));
    const unclear = { kind: 'unclear', nextMs: 100, isTooEarly: true };
    expect(at(now, endLook(look(now), DID_NOT, TERMS))).toEqual(unclear);
  });

  test('that it did not happen counts by when the look began, not by when it ends', () => {
    const { at, look } = createDead();
    at(100, openRun(1, FAILURE, false));
    const early = look(4900);
    expect(at(5100, endLook(early, DID_NOT, TERMS))).toMatchObject({ isTooEarly: true });
    expect(at(5200, endLook(look(5200), DID_NOT, TERMS))).toMatchObject({ kind: 'settled' });
  });

  test('becomes settled by a person who has read this fence', () => {
    const { at, look, effect } = createDead();
    const busy = look(6000);
    const end = createEnd('person', 'did_not_happen', { reason: 'seen' });
    expect(at(6100, settleByHand(7, end))).toEqual({ kind: 'other_fence', fence: 1 });
    expect(at(6100, settleByHand(1, end))).toMatchObject({ kind: 'settled' });
    expect(effect()).toMatchObject({ state: 'settled', fence: 2, end: { by: 'person' } });
    expect(at(6200, endLook(busy, HAPPENED, TERMS))).toEqual({ kind: 'overtaken' });
    expect(at(6200, settleByHand(2, end))).toEqual({ kind: 'already_settled', fence: 2 });
  });

  test('is not withdrawn: somebody looks for it', () => {
    const { at, look, effect } = createDead();
    look(6000);
    expect(at(6100, withdrawRun(1))).toBe(false);
    expect(effect()).toMatchObject({ state: 'open' });
  });
});

describe('settled', () => {
  test('that it happened lets no run begin', () => {
    const { at } = createSettled(HAPPENED);
    expect(at(7000, beginRun(RUN))).toEqual({ kind: 'lost' });
    expect(at(7000, claimLook(500, 0))).toMatchObject({ kind: 'settled' });
  });

  test('that it did not happen lets the next one begin, of which an older run holds, opens and ends nothing', () => {
    const { at, effect } = createSettled(DID_NOT);
    expect(at(7000, beginRun(RUN))).toEqual({ kind: 'held', fence: 3 });
    at(7100, renewRun(1));
    at(7100, noteRunOver(1));
    at(7100, openRun(1, FAILURE, true));
    expect(at(7100, withdrawRun(1))).toBe(false);
    expect(effect()).toMatchObject({ state: 'running', fence: 3, leaseEndsAt: 12_000 });
  });

  test('once it stands everywhere, the first who says so is told', () => {
    const { at } = createSettled(HAPPENED);
    expect(at(7000, markApplied(1))).toBe(false);
    expect([at(7000, markApplied(2)), at(7000, markApplied(2))]).toEqual([true, false]);
  });

  test.each([
    ['happened', HAPPENED, SUCCEEDED, 'agreed'],
    ['happened', HAPPENED, REFUSED, 'contradiction'],
    ['did not happen', DID_NOT, REFUSED, 'agreed'],
    ['did not happen', DID_NOT, SUCCEEDED, 'contradiction'],
    ['did not happen', DID_NOT, { executed: 'maybe', end: null } as const, 'agreed'],
  ] as const)('that it %s is compared with what its run says', (_verdict, found, end, compared) => {
    const { at, effect } = createSettled(found);
    expect(at(7000, endRun(1, end))).toBe(compared);
    expect(effect()?.isContradicted).toBe(compared === 'contradiction');
  });

  test('that it did not happen becomes that it happened, where its run says so and no other has begun', () => {
    const { at, effect } = createSettled(DID_NOT);
    at(6500, markApplied(2));
    at(7000, endRun(1, SUCCEEDED));
    expect(effect()).toMatchObject({
      state: 'settled',
      fence: 3,
      isApplied: false,
      end: { by: 'run', valueJson: '2' },
    });
    expect(at(7100, beginRun(RUN))).toEqual({ kind: 'lost' });
  });
});

describe('a second run', () => {
  const createSecond = () => {
    const record = createSettled(DID_NOT);
    record.at(7000, beginRun(RUN));
    return record;
  };

  test.each([
    ['ends', (now: number, { at }: ReturnType<typeof createRecord>) => at(now, endRun(3, REFUSED))],
    ['is withdrawn', (now: number, { at }: ReturnType<typeof createRecord>) => at(now, withdrawRun(3))],
  ])('that %s leaves a record, for the first one may end yet, and fences go on', (_how, end) => {
    const record = createSecond();
    end(7100, record);
    expect(record.effect()).toMatchObject({ state: 'settled', fence: 4, isApplied: true });
    expect(record.at(7200, beginRun(RUN))).toEqual({ kind: 'held', fence: 5 });
    expect(record.at(7300, endRun(1, SUCCEEDED))).toBe('contradiction');
    expect(record.effect()).toMatchObject({ state: 'running', fence: 5, isContradicted: true });
  });

  test('that succeeds is what stands, and the first one that succeeds, too, is a contradiction', () => {
    const { at, effect } = createSecond();
    expect(at(7100, endRun(3, SUCCEEDED))).toBe('ended');
    expect(at(7200, endRun(1, SUCCEEDED))).toBe('contradiction');
    expect(effect()).toMatchObject({ state: 'settled', fence: 4, end: { by: 'run', verdict: 'happened' } });
  });
});
