import { createManualClock } from '@recourse/test-support/session-stores-under-test.ts';
import { expect, test } from 'vitest';
import { BoundedStore, type EvictionReason } from '#src/memory/bounded-store.ts';

// A value of 1 000 bytes takes some 1 240 with its key.
const create = (limitBytes: number, ttlMs?: number) => {
  const clock = createManualClock();
  const gone: [string, EvictionReason | 'deleted'][] = [];
  const store = new BoundedStore<string>({
    limitBytes,
    ttlMs,
    now: clock.now,
    onGone: (key, _value, reason) => void gone.push([key, reason]),
  });
  const add = (key: string, bytes = 1000): void => store.set(key, `value of ${key}`, bytes);
  return { clock, store, gone, add };
};

test('beyond its bytes the entry that was used least recently goes first', () => {
  const { store, gone, add } = create(4200);
  for (const key of ['a:1', 'a:2', 'a:3']) add(key);
  expect(store.get('a:1')).toBe('value of a:1');
  add('a:4');
  expect(gone).toEqual([['a:2', 'full']]);
  expect(store.evictions).toEqual({ full: 1, share: 0, expired: 0, too_large: 0 });
  expect(store.bytes).toBeLessThanOrEqual(4200);
});

test('looking at an entry does not make it newer', () => {
  const { store, gone, add } = create(4200);
  for (const key of ['a:1', 'a:2', 'a:3']) add(key);
  expect(store.peek('a:1')).toBe('value of a:1');
  add('a:4');
  expect(gone).toEqual([['a:1', 'full']]);
});

test('the tenant that holds most loses, however old the entries of others are', () => {
  const { store, gone, add } = create(20_000);
  add('quiet:1');
  add('quiet:2');
  for (let count = 0; count < 100; count += 1) add(`flood:${count}`);
  expect([store.peek('quiet:1'), store.peek('quiet:2')]).toEqual(['value of quiet:1', 'value of quiet:2']);
  expect(new Set(gone.map(([, reason]) => reason))).toEqual(new Set(['share']));
  expect(gone.map(([key]) => key)).toEqual(Array.from({ length: gone.length }, (_, at) => `flood:${at}`));
});

test('tenants that all want more than there is come to equal parts', () => {
  const { store, add } = create(200_000);
  const tenants = ['a', 'b', 'c', 'd'];
  for (let count = 0; count < 400; count += 1) for (const tenant of tenants) add(`${tenant}:${count}`);
  const held = tenants.map((tenant) =>
    Array.from({ length: 400 }, (_, at) => store.peek(`${tenant}:${at}`)).filter((value) => value !== undefined),
  );
  for (const { length } of held) expect(length).toBeGreaterThanOrEqual(35);
});

test('one of many tenants with more than its part makes room, and the many keep theirs', () => {
  const { store, add } = create(400_000);
  for (let count = 0; count < 1000; count += 1) add(`flood:${count}`);
  for (let count = 0; count < 100; count += 1) add(`tenant-${count}:1`);
  for (let count = 0; count < 1000; count += 1) add(`flood:more-${count}`);
  const kept = Array.from({ length: 100 }, (_, at) => store.peek(`tenant-${at}:1`) !== undefined);
  expect(kept).toEqual(Array(100).fill(true));
});

test('what grows where it stands makes room, too, and what shrinks gives it back', () => {
  const { store, gone, add } = create(4200);
  for (const key of ['a:1', 'a:2', 'a:3']) add(key);
  const before = store.bytes;
  store.weigh('a:3', 1500);
  expect(gone).toEqual([['a:1', 'full']]);
  store.weigh('a:3', 1000);
  add('a:1');
  expect([store.bytes, store.size]).toEqual([before, 3]);
});

test('a look at a time that the caller gives renews an entry and ends it as any other', () => {
  const { clock, store, gone, add } = create(4200, 1000);
  for (const key of ['a:1', 'a:2', 'a:3']) add(key);
  expect(store.get('a:1', clock.now() + 500)).toBe('value of a:1');
  store.weigh('a:1', 1500);
  expect(gone).toEqual([['a:2', 'full']]);
  expect(store.get('a:3', clock.now() + 1000)).toBeUndefined();
  expect(store.get('a:1', clock.now() + 1499)).toBe('value of a:1');
  expect(gone).toEqual([
    ['a:2', 'full'],
    ['a:3', 'expired'],
  ]);
});

test('what is larger than the whole store is not kept and takes no other with it', () => {
  const { store, gone, add } = create(4200);
  add('a:1');
  add('a:2', 5000);
  expect(gone).toEqual([['a:2', 'too_large']]);
  expect([store.peek('a:1'), store.peek('a:2')]).toEqual(['value of a:1', undefined]);
});

test('an entry ends with its time, which its use renews', () => {
  const { clock, store, gone, add } = create(4200, 1000);
  add('a:1');
  add('a:2');
  clock.advance(999);
  expect(store.get('a:1')).toBe('value of a:1');
  clock.advance(1);
  expect([store.peek('a:1'), store.peek('a:2')]).toEqual(['value of a:1', undefined]);
  clock.advance(999);
  add('a:3');
  expect(gone).toEqual([
    ['a:2', 'expired'],
    ['a:1', 'expired'],
  ]);
});

test('an emptied store takes nothing, and whose it was is forgotten', () => {
  const { store, gone, add } = create(20_000);
  for (const key of ['a:1', 'b:1', 'c:1']) add(key);
  expect(store.delete('a:1')).toBe(true);
  expect(store.delete('a:1')).toBe(false);
  store.clear();
  expect([store.bytes, store.size]).toEqual([0, 0]);
  expect(gone.map(([, reason]) => reason)).toEqual(['deleted', 'deleted', 'deleted']);
});

test('any sequence of steps leaves the sum of what is there', () => {
  const { clock, store, add } = create(30_000, 50);
  let seed = 7;
  const random = (below: number): number => {
    seed = (seed * 16_807) % 2_147_483_647;
    return seed % below;
  };
  for (let step = 0; step < 20_000; step += 1) {
    const key = `t${random(5)}:${random(40)}`;
    const steps = [
      () => add(key, random(4000)),
      () => store.get(key),
      () => store.weigh(key, random(4000)),
      () => store.get(key, clock.now()),
      () => store.delete(key),
    ];
    steps[random(5)]?.();
    clock.advance(random(3));
    expect(store.bytes).toBeLessThanOrEqual(30_000);
  }
  for (let tenant = 0; tenant < 5; tenant += 1)
    for (let count = 0; count < 40; count += 1) store.delete(`t${tenant}:${count}`);
  expect([store.bytes, store.size]).toEqual([0, 0]);
});
